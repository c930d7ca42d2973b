#include "data/text/newer_characters.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <tuple>

#include "base/text/counts.h"
#include "data/text/unicode.h"

namespace strata::data {
namespace {

constexpr size_t kMostShown = 20;
constexpr std::string_view kSigma = "\u03A3";
// Only characters from U+055F on differ, so smaller lead bytes are skipped.
constexpr unsigned char kLeastLead = 0xD5;

bool may_differ(char c) { return static_cast<unsigned char>(c) >= kLeastLead; }

}  // namespace

void NewerCharacters::add(std::string_view text, const std::filesystem::path& file) {
  if (used_ == reference_) return;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    if (std::ranges::any_of(line, may_differ)) add_line(line, file, begin);
    begin = end + 1;
  }
}

void NewerCharacters::add_line(std::string_view line, const std::filesystem::path& file,
                               uint64_t offset) {
  const bool has_sigma = line.find(kSigma) != line.npos;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(line.data());
  for (size_t at = 0; at < line.size();) {
    utf8proc_int32_t decoded;
    const auto length =
        may_differ(line[at])
            ? utf8proc_iterate(bytes + at, static_cast<utf8proc_ssize_t>(line.size() - at),
                               &decoded)
            : 0;
    if (length <= 0) {
      ++at;
      continue;
    }
    const auto code_point = static_cast<char32_t>(decoded);
    const bool changed =
        is_newer(code_point, std::min(used_, reference_)) ||
        older_category(code_point, used_) != older_category(code_point, reference_) || has_sigma;
    if (changed && !treated_alike(code_point, used_, reference_, has_sigma))
      add(code_point, {1, file, offset + at});
    at += static_cast<size_t>(length);
  }
}

void NewerCharacters::add(const NewerCharacters& other) {
  for (const auto& [code_point, found] : other.found_) add(code_point, found);
}

void NewerCharacters::add(char32_t code_point, const Found& found) {
  const auto [known, is_new] = found_.emplace(code_point, found);
  if (is_new) return;
  Found& first = known->second;
  first.count += found.count;
  if (std::tie(found.file, found.offset) < std::tie(first.file, first.offset)) {
    first.file = found.file;
    first.offset = found.offset;
  }
}

std::string NewerCharacters::describe() const {
  if (found_.empty()) return "";
  const UnicodeVersion used = std::min(used_, installed_unicode());
  std::string text = fmt::format(
      "Unicode {} (used) and {} (of the MLPerf reference) treat {} of the text differently, so "
      "samples may differ; --unicode {} follows the reference:",
      to_string(used), to_string(reference_), counted(found_.size(), "character"),
      to_string(reference_));
  size_t shown = 0;
  for (const auto& [code_point, found] : found_) {
    if (shown++ == kMostShown) {
      text += fmt::format("\n  and {} more", found_.size() - kMostShown);
      break;
    }
    text +=
        fmt::format("\n  U+{:04X}, {}, first in {} at byte {}", static_cast<uint32_t>(code_point),
                    counted(found.count, "time"), found.file.string(), found.offset);
  }
  return text;
}

}  // namespace strata::data
