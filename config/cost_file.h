// Reads a cost model from a configuration or from the output of `strata bench cost`.
#pragma once

#include <string>

#include "config/config_value.h"
#include "loadbalance/cost_model.h"

namespace strata::config {

// Reads `auto`, a section of `linear` and `quadratic`, or the path of a file (JSON or YAML) that
// has both beside other measurements. Throws Error if the value is not `expected`, or the file has
// no valid model.
loadbalance::CostModel read_cost(const ConfigValue& value, const std::string& expected);

}  // namespace strata::config
