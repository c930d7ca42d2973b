// How Python writes numbers in texts.
#pragma once

#include <string>
#include <string_view>

namespace strata::compliance {

// Without the underscores that stand between two digits, which int() and float() pass over.
inline std::string without_digit_separators(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool joins = text[i] == '_' && i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) &&
                       is_digit(text[i + 1]);
    if (!joins) plain += text[i];
  }
  return plain;
}

}  // namespace strata::compliance
