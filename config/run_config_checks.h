// Combinations of values that are valid alone and cannot run together.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/run_config.h"

namespace strata::config {

// Returns a line for each conflict: the key, its source (source_of(key)) and the reason.
std::vector<std::string> conflicts_in(
    const RunConfig& config, const std::function<std::string(const std::string&)>& source_of);

// Returns a Markdown table of the combinations that are refused.
std::string combinations_reference();

}  // namespace strata::config
