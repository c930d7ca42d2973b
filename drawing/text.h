// Makes text of unknown origin (names, reasons, settings in logs) safe for a page or a picture, and
// shortens numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strata::drawing {

// Most characters that a page shows of one field.
inline constexpr size_t kLongestText = 240;

// Returns `text` as text of HTML or of a quoted attribute: valid UTF-8 of at most `most`
// characters, with "..." if it was cut. Replaces characters that control direction, layout or a
// terminal by U+FFFD.
std::string escape(std::string_view text, size_t most = kLongestText);

// The same without HTML's escapes, for data files.
std::string plain(std::string_view text, size_t most = kLongestText);

// Uses k, M, G, T from 10,000 on: "0.2134", "9870", "2.93 M".
std::string short_number(double value, int digits = 4);
// Returns "-" for nothing.
std::string short_number(std::optional<double> value);
// Returns seconds in a suitable unit: "4.20 ms", "3.1 s", "12.4 min", "2.1 h".
std::string duration(double seconds);
// Returns "12.3 %" for 0.123.
std::string percent(double share);

size_t characters_in(std::string_view text);
// Like plain, but cuts the middle of a text with more than `most` (at least 8) characters.
std::string shortened(std::string_view text, size_t most);
// Shortens each name, but keeps names whole that would become equal.
std::vector<std::string> shortened_apart(const std::vector<std::string>& names, size_t most);

}  // namespace strata::drawing
