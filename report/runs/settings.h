// The settings of a run by name, from its log, its configuration and its system's description.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "mllog/log_reader.h"

namespace strata::report {

// Values as text, by names such as "log: opt_base_learning_rate", "configuration: optimizer.lr" and
// "system: number_of_nodes".
using Settings = std::map<std::string, std::string>;

// Adds `value`, or "varies" if there is another value already.
void add_setting(Settings& settings, const std::string& name, const std::string& value);

// Adds events with a number, a word or a truth value that never changes in the log, except those of
// time, evaluation, seeds and the submission's names.
void add_log_settings(const mllog::LogReader& log, Settings& settings);

// Adds a run's result_N.yaml, if there is one. Throws Error if it cannot be read.
void add_configuration(const std::filesystem::path& log, Settings& settings);
void add_configuration_text(const std::string& yaml, const std::string& name, Settings& settings);

// Adds systems/<system>.json. Ignores a missing or invalid file, which checks report.
void add_system_description(const std::filesystem::path& path, Settings& settings);

}  // namespace strata::report
