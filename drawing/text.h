// Text of unknown origin (names, reasons, settings out of logs) made safe for a page or a picture,
// and numbers made short.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strata::drawing {

// Longest text that a page shows of one field, in characters.
inline constexpr size_t kLongestText = 240;

// `text` as text of HTML or of a quoted attribute: valid UTF-8 of at most `most` characters, "..."
// where it was cut; characters that control direction, layout or a terminal are replaced by U+FFFD.
std::string escape(std::string_view text, size_t most = kLongestText);

// The same without HTML's escapes: what ends in a file of data.
std::string plain(std::string_view text, size_t most = kLongestText);

// With k, M, G, T from 10,000 on: "0.2134", "9870", "2.93 M".
std::string short_number(double value, int digits = 4);
// "-" where there is none.
std::string short_number(std::optional<double> value);
// Seconds in the unit that suits them: "4.20 ms", "3.1 s", "12.4 min", "2.1 h".
std::string duration(double seconds);
// "12.3 %" of 0.123.
std::string percent(double share);

size_t characters_in(std::string_view text);
// As plain, but a text of more than `most` characters, at least 8, loses its middle.
std::string shortened(std::string_view text, size_t most);
// The same of each name; names that would become equal stay whole.
std::vector<std::string> shortened_apart(const std::vector<std::string>& names, size_t most);

}  // namespace strata::drawing
