// The subcommands of `strata data`, and what several of them share.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "cli/output/write_json.h"
#include "data/files/instance_file.h"
#include "data/prepare/prepare.h"

namespace strata::cli {

// Each adds a subcommand to `app`.
void add_prepare(CLI::App& app);
void add_mlperf(CLI::App& app);
void add_convert(CLI::App& app);
void add_index(CLI::App& app);
void add_shapes(CLI::App& app);
void add_compare(CLI::App& app, int& exit_code);
void add_info(CLI::App& app);
void add_show(CLI::App& app);

// Limits that take any file. They are for looking, not for training.
inline data::InstanceLimits any_sample(bool variable_length) {
  return {INT32_MAX, INT32_MAX, variable_length};
}

inline void add_variable_length(CLI::App& command, bool& variable_length) {
  command.add_flag("--variable-length", variable_length,
                   "Read variable-length rows (mlperf-varlen). Only for files of known origin, "
                   "because the HDF5 library does not check them");
}

inline nlohmann::ordered_json target_json(const data::TargetStatistics& targets) {
  return {{"masked_tokens", targets.masked},
          {"most_frequent_id", targets.most_frequent},
          {"most_frequent_share", targets.share}};
}

}  // namespace strata::cli
