// Combinations of values that are each valid and cannot run together.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/run_config.h"

namespace strata::config {

// What cannot run, a line each: the key, its source (as `source_of(key)` says) and the reason.
std::vector<std::string> conflicts_in(
    const RunConfig& config, const std::function<std::string(const std::string&)>& source_of);

// The combinations that are refused, as a table in Markdown.
std::string combinations_reference();

}  // namespace strata::config
