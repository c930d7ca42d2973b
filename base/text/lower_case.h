// Lower case of ASCII text.
#pragma once

#include <string>
#include <string_view>

namespace strata {

// Returns the text with a to z for A to Z. Other bytes stay as they are.
inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace strata
