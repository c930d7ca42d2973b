// What a run was set to, by name: what its log says, its configuration, its system's description.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "compliance/log/event_log.h"

namespace strata::report {

// Values as text, by names such as "log: opt_base_learning_rate", "configuration: optimizer.lr" and
// "system: number_of_nodes".
using Settings = std::map<std::string, std::string>;

// Adds `value`; where there is another already, "varies".
void add_setting(Settings& settings, const std::string& name, const std::string& value);

// Events with a number, a word or a truth value that the log has but once, or always the same; not
// those of time, evaluation, seeds and the submission's names.
void add_log_settings(const compliance::EventLog& log, Settings& settings);

// A run's result_N.yaml; nothing where there is none. Throws Error where it cannot be read.
void add_configuration(const std::filesystem::path& log, Settings& settings);
void add_configuration_text(const std::string& yaml, const std::string& name, Settings& settings);

// systems/<system>.json; nothing where there is none or it is no JSON, which checks say.
void add_system_description(const std::filesystem::path& path, Settings& settings);

}  // namespace strata::report
