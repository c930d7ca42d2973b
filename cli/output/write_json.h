// Prints JSON on standard output, for programs.
#pragma once

#include <fmt/format.h>

#include "base/text/json.h"

namespace strata::cli {

// Prints an nlohmann::json or ordered_json, indented by 2, and a line feed.
template <typename Json>
void write_json(const Json& json) {
  fmt::print("{}\n", json_text(json, 2));
}

}  // namespace strata::cli
