// The table of all configuration keys, the only source of their names, types, defaults, checks and
// documentation.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/config_value.h"
#include "config/run_config.h"

namespace strata::config {

struct ConfigKey {
  std::string name;  // "optimizer.lr"
  std::string type;  // ends a message "... is not ..."
  std::string description;
  bool required = false;
  bool is_map = false;
  std::function<void(const ConfigValue&, RunConfig&)> read;
  std::function<std::string(const RunConfig&)> write;  // writes YAML on one line
};

struct ConfigSection {
  std::string name;  // "optimizer"
  std::string description;
  std::vector<ConfigKey> keys;
};

// Returns the sections in the order of files and documentation.
const std::vector<ConfigSection>& config_sections();

}  // namespace strata::config
