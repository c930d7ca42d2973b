#include "data/text/unicode_version.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/error.h"
#include "data/text/unicode_ages.h"

namespace strata::data {
namespace {

// Characters with another general category before `until`, from Unicode 9.0 to 15.1. Lists only
// changes that affect spaces, punctuation, nonspacing marks or final sigmas.
struct CategoryChange {
  char32_t first, last;
  UnicodeVersion until;
  int category;
};
constexpr CategoryChange kCategoryChanges[] = {
    {0x10D0, 0x10FA, {11, 0}, UTF8PROC_CATEGORY_LO},    // Georgian letters got capitals
    {0x10FD, 0x10FF, {11, 0}, UTF8PROC_CATEGORY_LO},    // Georgian, too
    {0x166D, 0x166D, {12, 0}, UTF8PROC_CATEGORY_PO},    // Canadian syllabics chi sign
    {0x1734, 0x1734, {14, 0}, UTF8PROC_CATEGORY_MN},    // Hanunoo sign pamudpod
    {0xA9BD, 0xA9BD, {12, 0}, UTF8PROC_CATEGORY_MC},    // Javanese consonant sign keret
    {0x111C9, 0x111C9, {11, 0}, UTF8PROC_CATEGORY_PO},  // Sharada sandhi mark
};

std::optional<UnicodeVersion> read_version(std::string_view text) {
  UnicodeVersion version;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
  if (minor.ec != std::errc() || (minor.ptr != end && *minor.ptr != '.')) return std::nullopt;
  return version;
}

}  // namespace

UnicodeVersion installed_unicode() {
  static const UnicodeVersion version =
      read_version(utf8proc_unicode_version()).value_or(kReferenceUnicode);
  return version;
}

std::string to_string(UnicodeVersion version) {
  return fmt::format("{}.{}", version.major, version.minor);
}

UnicodeVersion parse_unicode_version(std::string_view text) {
  const auto version = read_version(text);
  if (!version || to_string(*version) != text || *version < kReferenceUnicode ||
      *version > installed_unicode()) {
    fail("'{}' is not a supported version of Unicode; give one from {} to {}, such as 12.1", text,
         to_string(kReferenceUnicode), to_string(installed_unicode()));
  }
  return *version;
}

bool is_newer(char32_t code_point, UnicodeVersion version) {
  if (version >= kNewestUnicode) return false;
  const AgeRange* const range =
      std::ranges::lower_bound(kNewerCharacters, code_point, {}, &AgeRange::last);
  return range != std::end(kNewerCharacters) && range->first <= code_point &&
         range->since > version;
}

std::optional<int> older_category(char32_t code_point, UnicodeVersion version) {
  for (const CategoryChange& change : kCategoryChanges) {
    if (code_point >= change.first && code_point <= change.last && version < change.until)
      return change.category;
  }
  return std::nullopt;
}

}  // namespace strata::data
