// Reading a cost model, as a configuration gives it or `strata bench cost` has measured it.
#pragma once

#include <string>

#include "config/config_value.h"
#include "loadbalance/cost_model.h"

namespace strata::config {

// `auto`, a section of `linear` and `quadratic`, or the path of a file in which they stand among
// what else was measured (JSON or YAML). Throws Error where the value is not `expected`, or the
// file has no valid model.
loadbalance::CostModel read_cost(const ConfigValue& value, const std::string& expected);

}  // namespace strata::config
