#include "base/text/printable.h"

#include <algorithm>

#include "base/text/characters.h"

namespace strata {
namespace {

void append_hexadecimal(std::string& out, char32_t number, int digits) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += kDigits[number >> shift & 15];
}

void append_escaped(std::string& out, char32_t character) {
  out += character < 0x80 ? "\\x" : character < 0x10000 ? "\\u" : "\\U";
  append_hexadecimal(out, character, character < 0x80 ? 2 : character < 0x10000 ? 4 : 8);
}

// Appends the character at `at` and advances `at` past it.
template <typename IsKept>
void append_shown(std::string& out, std::string_view text, size_t& at, const IsKept& is_kept) {
  const size_t begin = at;
  bool valid = false;
  const char32_t character = next_character(text, at, valid);
  if (!valid) {
    for (size_t i = begin; i < at; ++i) {
      out += "\\x";
      append_hexadecimal(out, static_cast<unsigned char>(text[i]), 2);
    }
  } else if (is_control(character) && !is_kept(character)) {
    append_escaped(out, character);
  } else {
    out += text.substr(begin, at - begin);
  }
}

bool begins_as_command(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return line.starts_with("::") || line.starts_with("##[");
}

}  // namespace

std::string printable_lines(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  const auto is_kept = [](char32_t c) { return c == '\n' || c == '\t'; };
  for (size_t at = 0; at < text.size();) {
    if ((at == 0 || text[at - 1] == '\n') && begins_as_command(text.substr(at))) shown += "| ";
    append_shown(shown, text, at, is_kept);
  }
  return shown;
}

std::string printable_error(std::string_view message) {
  std::string lines;
  while (true) {
    const size_t end = std::min(message.find('\n'), message.size());
    const std::string_view line = message.substr(0, end);
    const bool own =
        lines.empty() || line.empty() || line.starts_with("strata: ") || line.starts_with(' ');
    lines += own ? "" : "| ";
    lines += line;
    if (end == message.size()) break;
    lines += '\n';
    message.remove_prefix(end + 1);
  }
  return printable_lines(lines);
}

std::string one_line(std::string_view text, size_t most) {
  std::string line;
  const auto is_kept = [](char32_t) { return false; };
  for (size_t at = 0; at < text.size();) {
    size_t next = at;
    bool valid = false;
    next_character(text, next, valid);
    if (next > most) return line + "...";
    append_shown(line, text, at, is_kept);
  }
  return line;
}

}  // namespace strata
