// The options --config and --set of commands that need a run's configuration.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/run_config.h"

namespace strata::cli {

struct ConfigOptions {
  std::string config;
  std::vector<std::string> overrides;

  config::RunConfig load() const { return config::load_run_config(config, overrides); }
  // Reads run.stall_seconds before the ranks are connected. Errors in the configuration are
  // reported afterwards.
  double stall_seconds() const {
    try {
      return load().run.stall_seconds;
    } catch (const Error&) {
      return config::RunConfig().run.stall_seconds;
    }
  }
};

// Returns the files that a command with this configuration may read.
inline std::vector<std::filesystem::path> files_read(const config::RunConfig& config) {
  std::vector<std::filesystem::path> files = config.data.train;
  files.insert(files.end(), config.data.eval.begin(), config.data.eval.end());
  files.emplace_back(config.model.config);
  for (const auto& file : {config.model.vocab, config.model.checkpoint, config.data.shapes}) {
    if (file) files.push_back(*file);
  }
  return files;
}

// `reads` describes the part of the file that the command uses. `options` must outlive the parsing.
// Returns --config.
inline CLI::Option* add_config_options(CLI::App& command, ConfigOptions& options,
                                       const std::string& reads, const std::string& example) {
  command
      .add_option("--set", options.overrides, "Override a key: --set " + example + " (repeatable)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  return command.add_option("--config", options.config, "The run's YAML file" + reads);
}

}  // namespace strata::cli
