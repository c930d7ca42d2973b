// JSON as text, whatever bytes its strings hold.
#pragma once

#include <string>

namespace strata {

// The text of an nlohmann::json or ordered_json. Bytes that are no UTF-8, as those of paths can be,
// become U+FFFD, where dump() throws. `indent` is as for dump().
template <typename Json>
std::string json_text(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace strata
