#include "scoring/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/text/characters.h"
#include "base/text/from_chars.h"
#include "base/text/printable.h"

namespace strata::scoring {
namespace {

std::string quoted(const std::string& cell) {
  std::string text = "\"";
  for (const char c : cell) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + '"';
}

// Returns whether a spreadsheet takes the cell for a formula: its first character decides, even in
// full width.
bool is_formula(const std::string& cell) {
  for (const char* begin :
       {"=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20"}) {
    if (!cell.starts_with(begin)) continue;
    double number = 0;
    const char* first = cell.data() + (cell.front() == '+' ? 1 : 0);
    const char* last = cell.data() + cell.size();
    const auto [end, error] = from_chars(first, last, number);
    return error != std::errc() || end != last;
  }
  return false;
}

std::string csv_cell(const std::string& given) {
  const std::string cell = valid_utf8(given);
  if (is_formula(cell)) return quoted(fmt::format("'{}", cell));
  return cell.find_first_of(",\"\n\r") == cell.npos ? cell : quoted(cell);
}

// List items such as "- fast" are common in the official table and are no formulas.
std::string official_csv_cell(const std::string& cell) {
  const bool is_plain = cell.find_first_of(",\"\n\r") == cell.npos;
  const bool is_list = cell.starts_with("- ") || cell == "-" || cell == "+";
  return is_plain && (is_list || !is_formula(cell)) ? cell : quoted(cell);
}

std::string joined(const Row& cells, std::string (*cell_text)(const std::string&)) {
  std::string line;
  for (const std::string& cell : cells) line += cell_text(cell) + ',';
  line.back() = '\n';
  return line;
}

}  // namespace

std::string align(const std::vector<Row>& given) {
  std::vector<Row> rows = given;
  for (Row& row : rows) {
    for (std::string& cell : row) cell = one_line(cell);
  }
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    while (line.ends_with(' ')) line.pop_back();
    text += line + '\n';
  }
  return text;
}

std::string number_cell(std::optional<double> value, const char* pattern) {
  return value ? fmt::format(fmt::runtime(pattern), *value) : "-";
}

std::string csv_number(std::optional<double> value) {
  return value ? fmt::format("{}", *value) : "";
}

std::string csv_line(const Row& cells) { return joined(cells, csv_cell); }

std::string official_csv_line(const Row& cells) { return joined(cells, official_csv_cell); }

}  // namespace strata::scoring
