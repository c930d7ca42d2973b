#include "drawing/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text/characters.h"
#include "base/text/counts.h"

namespace strata::drawing {
namespace {

// Returns whether a character changes its neighbours, or is invisible.
bool is_hidden(char32_t c) {
  const auto within = [c](char32_t first, char32_t last) { return first <= c && c <= last; };
  return is_control(c) || c == 0xAD || within(0x200B, 0x200D) || within(0x2060, 0x206F);
}

// Calls `take` with at most `most` characters, white space as spaces, then with three dots.
template <typename Take>
void shown_characters(std::string_view text, size_t most, const Take& take) {
  size_t at = 0;
  for (size_t count = 0; at < text.size(); ++count) {
    if (count == most) {
      for (int i = 0; i < 3; ++i) take(U'.');
      return;
    }
    bool valid = false;
    const char32_t c = next_character(text, at, valid);
    take(c == '\n' || c == '\r' || c == '\t' ? U' ' : is_hidden(c) ? kReplacementCharacter : c);
  }
}

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// Returns the byte offset of the character with this number.
size_t character_at(std::string_view text, size_t number) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i]) && number-- == 0) return i;
  }
  return text.size();
}

}  // namespace

std::string escape(std::string_view text, size_t most) {
  std::string out;
  shown_characters(text, most, [&](char32_t c) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        append_utf8(out, c);
    }
  });
  return out;
}

std::string plain(std::string_view text, size_t most) {
  std::string out;
  shown_characters(text, most, [&](char32_t c) { append_utf8(out, c); });
  return out;
}

std::string short_number(double value, int digits) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P"};
  size_t unit = 0;
  double shown = value;
  if (std::abs(value) >= 10000) {
    while (std::abs(shown) >= 1000 && unit + 1 < std::size(kUnits)) {
      shown /= 1000;
      ++unit;
    }
  }
  const std::string text = fmt::format("{:.{}g}{}", shown, digits, kUnits[unit]);
  return text == "-0" ? "0" : text;
}

std::string short_number(std::optional<double> value) {
  return value ? short_number(*value) : std::string("-");
}

std::string duration(double seconds) {
  const double size = std::abs(seconds);
  if (size == 0) return "0 s";
  if (size < 1) return rounded_text(seconds * 1e3) + " ms";
  if (size < 120) return rounded_text(seconds) + " s";
  if (size < 2 * 3600) return rounded_text(seconds / 60) + " min";
  return rounded_text(seconds / 3600) + " h";
}

std::string percent(double share) { return rounded_text(100 * share) + " %"; }

size_t characters_in(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, begins_character));
}

std::string shortened(std::string_view text, size_t most) {
  const std::string whole = plain(text, text.size());
  const size_t characters = characters_in(whole);
  if (characters <= most) return whole;
  const size_t kept = most - 3, last = kept / 2, first = kept - last;
  return whole.substr(0, character_at(whole, first)) + "..." +
         whole.substr(character_at(whole, characters - last));
}

std::vector<std::string> shortened_apart(const std::vector<std::string>& names, size_t most) {
  std::map<std::string, std::set<std::string>> of_short;
  for (const std::string& name : names) of_short[shortened(name, most)].insert(name);
  std::vector<std::string> apart;
  for (const std::string& name : names) {
    const std::string one = shortened(name, most);
    apart.push_back(of_short[one].size() > 1 ? name : one);
  }
  return apart;
}

}  // namespace strata::drawing
