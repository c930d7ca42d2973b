// Parses YAML text to one tree.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>

namespace strata::config {

// Returns the only document in `text`, or null if it is empty. Throws Error with `source` and the
// line if it is not valid, or if anything follows the document.
YAML::Node parse_yaml(const std::string& text, const std::string& source);

}  // namespace strata::config
