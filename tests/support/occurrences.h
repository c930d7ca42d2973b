// Counts occurrences of a text in another.
#pragma once

#include <string>

namespace strata::testing_support {

inline size_t occurrences(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace strata::testing_support
