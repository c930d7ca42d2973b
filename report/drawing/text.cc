#include "report/drawing/text.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "base/text/characters.h"
#include "results/table.h"

namespace strata::report {
namespace {

// Whether a character changes what stands beside it, or is not shown at all.
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

bool is_number(const std::string& text) {
  double ignored = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, ignored);
  return result.ec == std::errc() && result.ptr == end;
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

std::string short_number(double value) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P"};
  size_t unit = 0;
  double shown = value;
  if (std::abs(value) >= 10000) {
    while (std::abs(shown) >= 1000 && unit + 1 < std::size(kUnits)) {
      shown /= 1000;
      ++unit;
    }
  }
  const std::string text = fmt::format("{:.4g}{}", shown, kUnits[unit]);
  return text == "-0" ? "0" : text;
}

std::string short_number(std::optional<double> value) {
  return value ? short_number(*value) : std::string("-");
}

std::string duration(double seconds) {
  const double size = std::abs(seconds);
  if (size == 0) return "0 s";
  if (size < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (size < 120) return fmt::format("{:.3g} s", seconds);
  if (size < 2 * 3600) return fmt::format("{:.3g} min", seconds / 60);
  return fmt::format("{:.3g} h", seconds / 3600);
}

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string csv(const Data& data) {
  std::string text = results::csv_line(data.columns);
  for (const auto& row : data.rows) {
    std::vector<std::string> cells;
    for (const std::string& cell : row) {
      const bool formula =
          !cell.empty() && std::string_view("=+-@").find(cell[0]) != std::string_view::npos;
      cells.push_back(plain(cell));
      if (formula && !is_number(cell)) cells.back().insert(0, 1, '\'');
    }
    text += results::csv_line(cells);
  }
  return text;
}

std::string data_link(const Data& data) {
  std::string encoded;
  for (const char c : csv(data)) {
    // What a URL may hold and an attribute need not escape.
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       std::string_view(",.-_:;/()+*").find(c) != std::string_view::npos;
    encoded += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return fmt::format(
      "<a class=\"data\" download=\"{0}.csv\" href=\"data:text/csv;charset=utf-8,{1}\">Data "
      "({0}.csv)</a>",
      escape(data.name), encoded);
}

std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0);
    }
    const size_t digits = std::min<size_t>(bytes.size() - i, 3) + 1;
    for (size_t j = 0; j < 4; ++j) {
      out += j < digits ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return out;
}

}  // namespace strata::report
