#include "results/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::results {
namespace {

std::string csv_cell(const std::string& cell) {
  if (cell.find_first_of(",\"\n\r") == cell.npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace

std::string align(const std::vector<Row>& rows) {
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

std::string csv_line(const Row& cells) {
  std::string line;
  for (const std::string& cell : cells) line += csv_cell(cell) + ',';
  line.back() = '\n';
  return line;
}

}  // namespace strata::results
