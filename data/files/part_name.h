// MLPerf's names of a data set's files, such as part-00042-of-00500.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace strata::data {

struct PartName {
  uint32_t number = 0, count = 0;
};

// Returns nullopt if `name` has another form.
inline std::optional<PartName> parse_part(const std::string& name) {
  constexpr std::string_view kForm = "part-00000-of-00500";
  constexpr size_t kDigits = 5;
  PartName part;
  const auto parse = [&](size_t at, uint32_t& value) {
    const char* end = name.data() + at + kDigits;
    return std::from_chars(name.data() + at, end, value).ptr == end;
  };
  const bool is_part = name.size() == kForm.size() && name.starts_with("part-") &&
                       name.substr(10, 4) == "-of-" && parse(5, part.number) &&
                       parse(14, part.count) && part.number < part.count;
  return is_part ? std::optional(part) : std::nullopt;
}

}  // namespace strata::data
