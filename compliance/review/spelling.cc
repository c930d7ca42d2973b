#include "compliance/review/spelling.h"

#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

namespace strata::compliance {
namespace {

// The base letters of U+00C0 to U+017F; empty if there is none (U+00D7, U+00F7).
constexpr std::string_view kBases[] = {
    "A", "A", "A",  "A",  "A", "A", "AE", "C",  "E",  "E", "E", "E", "I",  "I",  "I", "I", "D", "N",
    "O", "O", "O",  "O",  "O", "",  "O",  "U",  "U",  "U", "U", "Y", "Th", "ss", "a", "a", "a", "a",
    "a", "a", "ae", "c",  "e", "e", "e",  "e",  "i",  "i", "i", "i", "d",  "n",  "o", "o", "o", "o",
    "o", "",  "o",  "u",  "u", "u", "u",  "y",  "th", "y", "A", "a", "A",  "a",  "A", "a", "C", "c",
    "C", "c", "C",  "c",  "C", "c", "D",  "d",  "D",  "d", "E", "e", "E",  "e",  "E", "e", "E", "e",
    "E", "e", "G",  "g",  "G", "g", "G",  "g",  "G",  "g", "H", "h", "H",  "h",  "I", "i", "I", "i",
    "I", "i", "I",  "i",  "I", "i", "IJ", "ij", "J",  "j", "K", "k", "k",  "L",  "l", "L", "l", "L",
    "l", "L", "l",  "L",  "l", "N", "n",  "N",  "n",  "N", "n", "n", "N",  "n",  "O", "o", "O", "o",
    "O", "o", "OE", "oe", "R", "r", "R",  "r",  "R",  "r", "S", "s", "S",  "s",  "S", "s", "S", "s",
    "T", "t", "T",  "t",  "T", "t", "U",  "u",  "U",  "u", "U", "u", "U",  "u",  "U", "u", "U", "u",
    "W", "w", "Y",  "y",  "Y", "Z", "z",  "Z",  "z",  "Z", "z", "s"};
constexpr char32_t kFirst = 0xc0;

// Returns the characters of valid UTF-8 (RFC 3629), or nullopt.
std::optional<std::u32string> decode_utf8(std::string_view text) {
  std::u32string out;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4 || i + more >= text.size())
      return std::nullopt;
    char32_t code = more == 0 ? lead : lead & (0x3fu >> more);
    for (size_t j = 1; j <= more; ++j) {
      const auto byte = static_cast<unsigned char>(text[i + j]);
      if ((byte & 0xc0) != 0x80) return std::nullopt;
      code = code << 6 | (byte & 0x3fu);
    }
    constexpr char32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    if (code < kLeast[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
      return std::nullopt;
    out += code;
    i += more + 1;
  }
  return out;
}

std::u32string decode(std::string_view text) {
  if (auto utf8 = decode_utf8(text)) return *std::move(utf8);
  std::u32string latin1;
  for (const char c : text) latin1 += static_cast<unsigned char>(c);
  return latin1;
}

// Returns the characters as bytes, or an empty text if one exceeds a byte.
std::string as_bytes(const std::u32string& text) {
  std::string bytes;
  for (const char32_t c : text) {
    if (c > 0xff) return "";
    bytes += static_cast<char>(c);
  }
  return bytes;
}

void append_utf8(char32_t c, std::string& out) {
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr unsigned kLead[] = {0, 0xc0, 0xe0, 0xf0};
  out += static_cast<char>(kLead[more] | (c >> (6 * more)));
  for (int j = more - 1; j >= 0; --j) out += static_cast<char>(0x80 | ((c >> (6 * j)) & 0x3f));
}

}  // namespace

std::string without_accents(std::string_view text) {
  std::u32string letters = decode(text);
  // Letters that look like bytes of UTF-8 were encoded twice.
  constexpr int kMostRounds = 4;
  for (int round = 0; round < kMostRounds; ++round) {
    const std::string bytes = as_bytes(letters);
    auto inner = bytes.empty() ? std::nullopt : decode_utf8(bytes);
    if (!inner || *inner == letters) break;
    letters = *std::move(inner);
  }
  std::string out;
  for (const char32_t c : letters) {
    constexpr char32_t kFirstMark = 0x300, kLastMark = 0x36f;  // combining marks
    if (c >= kFirstMark && c <= kLastMark) continue;
    if (c >= kFirst && c < kFirst + std::size(kBases)) {
      out += kBases[c - kFirst];
    } else {
      append_utf8(c, out);
    }
  }
  return out;
}

}  // namespace strata::compliance
