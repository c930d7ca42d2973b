// Text of unknown origin (names, reasons, settings out of logs) made safe for a page, and numbers
// made short.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strata::report {

// Longest text that a page shows of one field, in characters.
inline constexpr size_t kLongestText = 240;

// `text` as text of HTML or of a quoted attribute: valid UTF-8 of at most `most` characters, "..."
// where it was cut; characters that control direction, layout or a terminal are replaced by U+FFFD.
std::string escape(std::string_view text, size_t most = kLongestText);

// The same without HTML's escapes: what ends in a file of data.
std::string plain(std::string_view text, size_t most = kLongestText);

// Four digits, with k, M, G, T beyond 10,000: "0.2134", "9870", "2.93 M".
std::string short_number(double value);
// "-" where there is none.
std::string short_number(std::optional<double> value);
// Seconds in the unit that suits them: "4.20 ms", "3.1 s", "12.4 min", "2.1 h".
std::string duration(double seconds);
// "12.3 %" of 0.123.
std::string percent(double share);

// A table of data behind a picture.
struct Data {
  std::string name;  // of the file, without its ending
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

// As RFC 4180 has it. A cell that a spreadsheet would take for a formula begins with an apostrophe.
std::string csv(const Data& data);
// A link that saves the data, without a network: "<a download=... href=data:...>".
std::string data_link(const Data& data);

std::string base64(std::string_view bytes);

}  // namespace strata::report
