// Reads UTF-8 character by character.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace strata {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

// Returns the character at byte offset `at` and advances `at` past it. If the bytes are not valid
// UTF-8, returns U+FFFD, advances `at` past the invalid bytes and sets `valid` to false. Requires
// at < text.size().
char32_t next_character(std::string_view text, size_t& at, bool& valid);

void append_utf8(std::string& out, char32_t character);

// True for characters that control a terminal or change the display of their neighbours: control
// characters, line separators, and marks of direction, including tags.
bool is_control(char32_t character);

bool is_utf8(std::string_view text);

// Returns the text with each run of bytes that next_character() calls invalid replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

}  // namespace strata
