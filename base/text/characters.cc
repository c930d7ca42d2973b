#include "base/text/characters.h"

#include <algorithm>

namespace strata {

// Ill-formed sequences end where Unicode recommends (3.9, "maximal subparts"), as in browsers,
// Python and nlohmann::json.
char32_t next_character(std::string_view text, size_t& at, bool& valid) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at++);
  valid = first < 0x80;
  if (valid) return first;
  if (first < 0xC2 || first > 0xF4) return kReplacementCharacter;
  const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  // The second byte also excludes overlong forms, surrogates and numbers above U+10FFFF.
  unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  char32_t character = first & (0x3F >> more);
  for (int i = 0; i < more; ++i) {
    if (at == text.size() || byte(at) < least || byte(at) > most) return kReplacementCharacter;
    character = character << 6 | (byte(at++) & 0x3F);
    least = 0x80, most = 0xBF;
  }
  valid = true;
  return character;
}

void append_utf8(std::string& out, char32_t character) {
  const auto tail = [&](int shift) {
    out += static_cast<char>(0x80 | (character >> shift & 0x3F));
  };
  if (character < 0x80) {
    out += static_cast<char>(character);
  } else if (character < 0x800) {
    out += static_cast<char>(0xC0 | character >> 6);
    tail(0);
  } else if (character < 0x10000) {
    out += static_cast<char>(0xE0 | character >> 12);
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xF0 | character >> 18);
    tail(12), tail(6), tail(0);
  }
}

bool is_control(char32_t c) {
  const auto within = [c](char32_t first, char32_t last) { return first <= c && c <= last; };
  return c < 0x20 || within(0x7F, 0x9F) || c == 0x061C || within(0x200E, 0x200F) ||
         within(0x2028, 0x202E) || within(0x2066, 0x2069) || c == 0xFEFF ||
         within(0xFFF9, 0xFFFB) || within(0xFFFE, 0xFFFF) || within(0xE0000, 0xE0FFF);
}

bool is_utf8(std::string_view text) {
  bool valid = true;
  for (size_t at = 0; at < text.size() && valid;) next_character(text, at, valid);
  return valid;
}

std::string valid_utf8(std::string_view text) {
  std::string valid_text;
  valid_text.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    bool valid = false;
    append_utf8(valid_text, next_character(text, at, valid));
  }
  return valid_text;
}

}  // namespace strata
