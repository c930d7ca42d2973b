// Versions of Unicode. Older ones lack characters of newer ones and classify a few differently.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace strata::data {

struct UnicodeVersion {
  int major = 0;
  int minor = 0;
  auto operator<=>(const UnicodeVersion&) const = default;
};

// The version of the installed utf8proc.
inline constexpr UnicodeVersion kNewestUnicode{1000, 0};
// Unicode version of the MLPerf reference: that of Python 3.6 in its Docker image
// (tensorflow/tensorflow:2.4.0-gpu). The tables here start with it.
inline constexpr UnicodeVersion kReferenceUnicode{9, 0};

// Returns the version of the installed utf8proc.
UnicodeVersion installed_unicode();

// Returns for example "9.0".
std::string to_string(UnicodeVersion version);

// Parses a version such as "9.0". Throws Error unless it is between kReferenceUnicode and the
// installed one.
UnicodeVersion parse_unicode_version(std::string_view text);

// True if `version` lacks `code_point` and a later version has it. In `version` it is unassigned:
// category Cn, its own lower case and its own decomposition.
bool is_newer(char32_t code_point, UnicodeVersion version);

// Returns a general category that a later version changed (utf8proc_category_t, as a number).
std::optional<int> older_category(char32_t code_point, UnicodeVersion version);

}  // namespace strata::data
