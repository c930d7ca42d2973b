// Combinations of values that are each valid and cannot run together.
#pragma once

#include <functional>
#include <string>

#include "config/run_config.h"

namespace strata::config {

// Throws Error naming the key, its source (as `source_of(key)` says) and the reason.
void check_combinations(const RunConfig& config,
                        const std::function<std::string(const std::string&)>& source_of);

}  // namespace strata::config
