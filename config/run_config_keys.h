// The table of everything a run configuration holds: the one place where a key's name, type,
// default, check and documentation come from.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/config_value.h"
#include "config/run_config.h"

namespace strata::config {

struct ConfigKey {
  std::string name;  // "optimizer.lr"
  std::string type;  // completes "is not ..."
  std::string description;
  bool required = false;
  bool is_map = false;
  std::function<void(const ConfigValue&, RunConfig&)> read;
  std::function<std::string(const RunConfig&)> write;  // as YAML, on one line
};

struct ConfigSection {
  std::string name;  // "optimizer"
  std::string description;
  std::vector<ConfigKey> keys;
};

// In the order they are written and documented.
const std::vector<ConfigSection>& config_sections();

}  // namespace strata::config
