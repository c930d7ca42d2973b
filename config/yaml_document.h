// YAML text as one tree, or an error.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>

namespace strata::config {

// The one document that `text` holds; null where it is empty. Throws Error, with `source` and the
// line, where it is not valid or goes on after the document's end.
YAML::Node parse_yaml(const std::string& text, const std::string& source);

}  // namespace strata::config
