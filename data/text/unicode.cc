#include "data/text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

namespace strata::data {
namespace {

constexpr char32_t kCapitalSigma = 0x03A3;
constexpr char32_t kSmallSigma = 0x03C3;
constexpr char32_t kFinalSigma = 0x03C2;

constexpr char32_t kArmenianAbbreviationMark = 0x055F;
constexpr UnicodeVersion kAbbreviationMarkJoins{13, 0};  // the mark joins words since this version

utf8proc_category_t category(char32_t code_point, UnicodeVersion version) {
  if (is_newer(code_point, version)) return UTF8PROC_CATEGORY_CN;
  if (const auto older = older_category(code_point, version))
    return static_cast<utf8proc_category_t>(*older);
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

bool in_range(char32_t code_point, char32_t first, char32_t last) {
  return code_point >= first && code_point <= last;
}

// Length of the sequence that a lead byte opens, and the range of its second byte (Unicode, table
// 3-7); length 0 if no sequence starts with the byte.
struct Lead {
  int length;
  unsigned char low, high;
};

Lead classify_lead(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2 || byte > 0xF4) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {4, 0x80, 0xBF};
}

// The properties Cased and Case_Ignorable (Unicode, D135 and D136), derived from general categories
// and case mappings.
bool is_cased(char32_t code_point, UnicodeVersion version) {
  switch (category(code_point, version)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
      return true;
    case UTF8PROC_CATEGORY_CN:
      return false;
    default:
      if (older_category(code_point, version)) return false;
      return utf8proc_isupper(static_cast<utf8proc_int32_t>(code_point)) != 0 ||
             utf8proc_islower(static_cast<utf8proc_int32_t>(code_point)) != 0;
  }
}

bool is_case_ignorable(char32_t code_point, UnicodeVersion version) {
  if (code_point == kArmenianAbbreviationMark) return version >= kAbbreviationMarkJoins;
  static constexpr std::u32string_view kMidWord =
      U"'.:\u00B7\u0387\u05F4\u2018\u2019\u2024\u2027\uFE13\uFE52\uFE55\uFF07\uFF0E\uFF1A";
  switch (category(code_point, version)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return kMidWord.find(code_point) != std::u32string_view::npos;
  }
}

bool ends_cased_run(std::u32string_view word, size_t sigma, UnicodeVersion version) {
  size_t before = sigma;
  while (before > 0 && is_case_ignorable(word[before - 1], version)) --before;
  if (before == 0 || !is_cased(word[before - 1], version)) return false;
  size_t after = sigma + 1;
  while (after < word.size() && is_case_ignorable(word[after], version)) ++after;
  return after == word.size() || !is_cased(word[after], version);
}

// Appends the canonical decomposition of `word` without its nonspacing marks.
void append_without_marks(std::u32string_view word, UnicodeVersion version, std::u32string& out) {
  std::string bytes;
  for (const char32_t code_point : word) append_utf8(code_point, bytes);
  constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
  const auto* text = reinterpret_cast<const utf8proc_uint8_t*>(bytes.data());
  const auto size = static_cast<utf8proc_ssize_t>(bytes.size());
  const utf8proc_ssize_t count = utf8proc_decompose(text, size, nullptr, 0, kOptions);
  if (count < 0) {
    out += word;
    return;
  }
  std::vector<utf8proc_int32_t> decomposed(static_cast<size_t>(count));
  utf8proc_decompose(text, size, decomposed.data(), count, kOptions);
  for (const utf8proc_int32_t code_point : decomposed) {
    if (category(static_cast<char32_t>(code_point), version) != UTF8PROC_CATEGORY_MN)
      out.push_back(static_cast<char32_t>(code_point));
  }
}

// Returns the code point at `at`, or nullopt for malformed bytes. Advances `at` past either.
std::optional<char32_t> next_code_point(std::string_view bytes, size_t& at) {
  const auto first = static_cast<unsigned char>(bytes[at++]);
  const Lead lead = classify_lead(first);
  if (lead.length == 0) return std::nullopt;
  char32_t code_point = lead.length == 1 ? first : first & (0x7F >> lead.length);
  for (int taken = 1; taken < lead.length; ++taken, ++at) {
    if (at == bytes.size()) return std::nullopt;
    const auto byte = static_cast<unsigned char>(bytes[at]);
    const bool expected =
        taken == 1 ? byte >= lead.low && byte <= lead.high : (byte & 0xC0) == 0x80;
    if (!expected) return std::nullopt;
    code_point = code_point << 6 | (byte & 0x3F);
  }
  return code_point;
}

}  // namespace

std::u32string decode_utf8(std::string_view bytes) {
  std::u32string out;
  out.reserve(bytes.size());
  for (size_t i = 0; i < bytes.size();) {
    if (const auto code_point = next_code_point(bytes, i)) out.push_back(*code_point);
  }
  return out;
}

MalformedBytes count_malformed(std::string_view bytes) {
  MalformedBytes found;
  for (size_t i = 0; i < bytes.size();) {
    const size_t begin = i;
    if (static_cast<unsigned char>(bytes[i]) < 0x80) {
      ++i;
    } else if (!next_code_point(bytes, i)) {
      if (found.count == 0) found.first = begin;
      found.count += i - begin;
    }
  }
  return found;
}

void append_utf8(char32_t code_point, std::string& out) {
  utf8proc_uint8_t bytes[4];
  const auto count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(count));
}

bool is_space(char32_t code_point, UnicodeVersion version) {
  if (code_point < 0x80) {
    return code_point == ' ' || in_range(code_point, 0x09, 0x0D) ||
           in_range(code_point, 0x1C, 0x1F);
  }
  if (code_point == 0x85) return true;
  const auto kind = category(code_point, version);
  return kind == UTF8PROC_CATEGORY_ZS || kind == UTF8PROC_CATEGORY_ZL ||
         kind == UTF8PROC_CATEGORY_ZP;
}

bool is_dropped(char32_t code_point, UnicodeVersion version) {
  if (code_point == '\t' || code_point == '\n' || code_point == '\r') return false;
  if (code_point == 0 || code_point == 0xFFFD) return true;
  const auto kind = category(code_point, version);
  return kind == UTF8PROC_CATEGORY_CC || kind == UTF8PROC_CATEGORY_CF;
}

bool is_punctuation(char32_t code_point, UnicodeVersion version) {
  if (in_range(code_point, 33, 47) || in_range(code_point, 58, 64) ||
      in_range(code_point, 91, 96) || in_range(code_point, 123, 126)) {
    return true;
  }
  switch (category(code_point, version)) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return true;
    default:
      return false;
  }
}

bool is_cjk(char32_t code_point) {
  return in_range(code_point, 0x4E00, 0x9FFF) || in_range(code_point, 0x3400, 0x4DBF) ||
         in_range(code_point, 0x20000, 0x2A6DF) || in_range(code_point, 0x2A700, 0x2B73F) ||
         in_range(code_point, 0x2B740, 0x2B81F) || in_range(code_point, 0x2B820, 0x2CEAF) ||
         in_range(code_point, 0xF900, 0xFAFF) || in_range(code_point, 0x2F800, 0x2FA1F);
}

std::u32string lower_case(std::u32string_view word, UnicodeVersion version) {
  std::u32string out;
  out.reserve(word.size());
  for (size_t i = 0; i < word.size(); ++i) {
    if (word[i] == kCapitalSigma) {
      out.push_back(ends_cased_run(word, i, version) ? kFinalSigma : kSmallSigma);
    } else if (is_newer(word[i], version)) {
      out.push_back(word[i]);
    } else {
      out.push_back(
          static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(word[i]))));
    }
  }
  return out;
}

// Marks do not move across characters that are unassigned in `version`.
std::u32string strip_accents(std::u32string_view word, UnicodeVersion version) {
  const auto newer = [version](char32_t code_point) { return is_newer(code_point, version); };
  std::u32string out;
  for (auto begin = word.begin(); begin != word.end();) {
    const auto end = std::find_if(begin, word.end(), newer);
    append_without_marks({begin, end}, version, out);
    begin = std::find_if_not(end, word.end(), newer);
    out.append(end, begin);
  }
  return out;
}

bool treated_alike(char32_t code_point, UnicodeVersion a, UnicodeVersion b, bool beside_sigma) {
  const auto treatment = [&](UnicodeVersion version) {
    return std::tuple(is_space(code_point, version), is_dropped(code_point, version),
                      is_punctuation(code_point, version),
                      strip_accents(lower_case({&code_point, 1}, version), version),
                      beside_sigma && is_cased(code_point, version),
                      beside_sigma && is_case_ignorable(code_point, version));
  };
  return treatment(a) == treatment(b);
}

}  // namespace strata::data
