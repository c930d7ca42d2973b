// UTF-8, character by character.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace strata {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

// The character that begins at byte `at` of `text`, which then moves behind it. For a byte that
// begins no character it is U+FFFD and `at` moves behind what cannot be one; `valid` tells it from
// a U+FFFD that is there. Requires at < text.size().
char32_t next_character(std::string_view text, size_t& at, bool& valid);

void append_utf8(std::string& out, char32_t character);

// Whether a character steers a terminal or changes what stands beside it: control characters,
// separators of lines, and marks of direction, tags included.
bool is_control(char32_t character);

bool is_utf8(std::string_view text);

}  // namespace strata
