// Text without what surrounds it.
#pragma once

#include <cstddef>
#include <string_view>

namespace strata {

// The white space of ASCII, as Python's str.strip() takes it for a text of ASCII.
inline constexpr std::string_view kWhiteSpace = " \t\r\n\f\v";

// Returns `text` without the leading and trailing characters that are in `characters`.
inline std::string_view trimmed(std::string_view text, std::string_view characters = kWhiteSpace) {
  const size_t first = text.find_first_not_of(characters);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(characters) - first + 1);
}

}  // namespace strata
