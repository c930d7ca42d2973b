// Versions of Unicode: older ones lack characters that newer ones have, and class a few otherwise.
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

// Whatever the installed utf8proc knows.
inline constexpr UnicodeVersion kNewestUnicode{1000, 0};
// That of the MLPerf reference: of Python 3.6, in its Docker image
// (tensorflow/tensorflow:2.4.0-gpu). The tables here go back to it.
inline constexpr UnicodeVersion kReferenceUnicode{9, 0};

// That of the installed utf8proc.
UnicodeVersion installed_unicode();

// "9.0".
std::string to_string(UnicodeVersion version);

// Of "9.0" and the like. Throws Error where it is no version from kReferenceUnicode to the
// installed one.
UnicodeVersion parse_unicode_version(std::string_view text);

// Whether `version` lacks `code_point` and later ones have it. In `version` it is then unassigned:
// of category Cn, its own lower case and its own decomposition.
bool is_newer(char32_t code_point, UnicodeVersion version);

// A general category that a later version changed (utf8proc_category_t, as a number).
std::optional<int> older_category(char32_t code_point, UnicodeVersion version);

}  // namespace strata::data
