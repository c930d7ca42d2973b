#include "mllog/python_digits.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/text/trim.h"

namespace strata::mllog {
namespace {

// The zeros of the scripts' decimal digits beyond ASCII, Unicode 15.1.0; 1 to 9 follow each.
// Python: [c for c in range(128, 0x110000) if unicodedata.decimal(chr(c), None) == 0]
constexpr uint32_t kZeros[] = {
    0x660,   0x6f0,   0x7c0,   0x966,   0x9e6,   0xa66,   0xae6,   0xb66,   0xbe6,   0xc66,
    0xce6,   0xd66,   0xde6,   0xe50,   0xed0,   0xf20,   0x1040,  0x1090,  0x17e0,  0x1810,
    0x1946,  0x19d0,  0x1a80,  0x1a90,  0x1b50,  0x1bb0,  0x1c40,  0x1c50,  0xa620,  0xa8d0,
    0xa900,  0xa9d0,  0xa9f0,  0xaa50,  0xabf0,  0xff10,  0x104a0, 0x10d30, 0x11066, 0x110f0,
    0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950,
    0x11c50, 0x11d50, 0x11da0, 0x11f50, 0x16a60, 0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2,
    0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e4f0, 0x1e950, 0x1fbf0};

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

bool is_unicode_space(uint32_t code) {
  if (code < 0x80) return (code >= 9 && code <= 13) || (code >= 28 && code <= 32);
  return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
         code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

char seen_by_python(uint32_t code) {
  if (is_unicode_space(code)) return ' ';
  if (code < 0x80) return static_cast<char>(code);
  const uint32_t* after = std::upper_bound(std::begin(kZeros), std::end(kZeros), code);
  if (after == std::begin(kZeros) || code - after[-1] > 9) return '?';
  return static_cast<char>('0' + (code - after[-1]));
}

// Removes and returns the first character of a text written by decode_json_string.
uint32_t take_character(std::string_view& utf8) {
  const auto lead = static_cast<unsigned char>(utf8.front());
  const size_t size = std::min<size_t>(utf8.size(), lead < 0xc0   ? 1
                                                    : lead < 0xe0 ? 2
                                                    : lead < 0xf0 ? 3
                                                                  : 4);
  uint32_t code = size == 1 ? lead : lead & (0xffu >> (size + 1));
  for (size_t i = 1; i < size; ++i)
    code = code << 6 | (static_cast<unsigned char>(utf8[i]) & 0x3fu);
  utf8.remove_prefix(size);
  return code;
}

}  // namespace

std::string python_number_text(std::string_view utf8) {
  std::string text;
  while (!utf8.empty()) text += seen_by_python(take_character(utf8));
  return std::string(trimmed(text, " "));
}

std::string without_digit_separators(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool joins = text[i] == '_' && i > 0 && i + 1 < text.size() &&
                       is_ascii_digit(text[i - 1]) && is_ascii_digit(text[i + 1]);
    if (!joins) plain += text[i];
  }
  return plain;
}

std::optional<std::string> python_int(std::string_view utf8) {
  constexpr size_t kMostDigits = 4300;  // Python refuses longer integers
  std::string text = without_digit_separators(python_number_text(utf8));
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.erase(0, 1);
  if (text.empty() || text.size() > kMostDigits ||
      !std::all_of(text.begin(), text.end(), is_ascii_digit))
    return std::nullopt;
  text.erase(0, std::min(text.find_first_not_of('0'), text.size() - 1));
  return negative && text != "0" ? "-" + text : text;
}

}  // namespace strata::mllog
