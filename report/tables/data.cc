#include "report/tables/data.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdint>

#include "base/text/from_chars.h"
#include "drawing/text.h"
#include "scoring/table.h"

namespace strata::report {
namespace {

bool is_number(const std::string& text) {
  double ignored = 0;
  const char* end = text.data() + text.size();
  const auto result = from_chars(text.data(), end, ignored);
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace

std::string csv(const Data& data) {
  std::string text = scoring::csv_line(data.columns);
  for (const auto& row : data.rows) {
    std::vector<std::string> cells;
    for (const std::string& cell : row) {
      const bool formula =
          !cell.empty() && std::string_view("=+-@").find(cell[0]) != std::string_view::npos;
      cells.push_back(drawing::plain(cell));
      if (formula && !is_number(cell)) cells.back().insert(0, 1, '\'');
    }
    text += scoring::csv_line(cells);
  }
  return text;
}

std::string data_link(const Data& data) {
  std::string encoded;
  for (const char c : csv(data)) {
    // These characters are valid in a URL and need no escape in an attribute.
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       std::string_view(",.-_:;/()+*").find(c) != std::string_view::npos;
    encoded += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return fmt::format(
      "<a class=\"data\" download=\"{0}.csv\" href=\"data:text/csv;charset=utf-8,{1}\">Data "
      "({0}.csv)</a>",
      drawing::escape(data.name), encoded);
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
