// How Python's int() and float() read texts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace strata::mllog {

// The UTF-8 text as int() and float() see it: decimal digits of every script are 0 to 9, every
// space of Unicode is a blank, other characters beyond ASCII are '?'; without space at either end.
std::string python_number_text(std::string_view utf8);

// Without the underscores that stand between two digits, which int() and float() pass over.
std::string without_digit_separators(std::string_view text);

// The integer that int() makes of a text, in decimal; empty where it refuses the text.
std::optional<std::string> python_int(std::string_view utf8);

}  // namespace strata::mllog
