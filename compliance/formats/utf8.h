// Text for formats that must be UTF-8.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace strata::compliance {

// The same text; bytes that are no UTF-8 become U+FFFD.
inline std::string valid_utf8(std::string_view text) {
  using nlohmann::json;
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace strata::compliance
