// Numbers in texts as Python's int() and float() read them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace strata::mllog {

// Returns the UTF-8 text as int() and float() see it: decimal digits of every script become 0 to 9,
// every Unicode space a blank, and other characters beyond ASCII '?'. Strips space at both ends.
std::string python_number_text(std::string_view utf8);

// Removes underscores between two digits, which int() and float() ignore.
std::string without_digit_separators(std::string_view text);

// Returns the integer that int() reads from a text, in decimal; nullopt if int() refuses the text.
std::optional<std::string> python_int(std::string_view utf8);

}  // namespace strata::mllog
