// --config and --set, for every command that needs a run's configuration.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "config/run_config.h"

namespace strata::cli {

struct ConfigOptions {
  std::string config;
  std::vector<std::string> overrides;

  config::RunConfig load() const { return config::load_run_config(config, overrides); }
};

// `reads`: what of the file the command uses. `options` outlives the parsing. Returns --config.
inline CLI::Option* add_config_options(CLI::App& command, ConfigOptions& options,
                                       const std::string& reads, const std::string& example) {
  command
      .add_option("--set", options.overrides, "Override a key: --set " + example + " (repeatable)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  return command.add_option("--config", options.config, "The run's YAML file" + reads);
}

}  // namespace strata::cli
