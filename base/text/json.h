// Writes JSON even if strings are not valid UTF-8.
#pragma once

#include <string>

namespace strata {

// Returns the text of an nlohmann::json or ordered_json. Bytes that are not UTF-8, which paths may
// contain, become U+FFFD; dump() would throw. `indent` is as for dump().
template <typename Json>
std::string json_text(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace strata
