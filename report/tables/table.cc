#include "report/tables/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace strata::report {
namespace {

using drawing::escape;

// Shorter tables need no filter.
constexpr size_t kWorthFiltering = 8;

// Longer cells are printed on several lines.
constexpr size_t kLongCell = 40;

// Lets long words break after their underscores. File names such as result_10.txt stay whole.
std::string breakable(const std::string& html) {
  constexpr size_t kLongWord = 16;
  std::string out;
  for (size_t begin = 0; begin < html.size();) {
    const size_t end = std::min(html.find(' ', begin), html.size() - 1) + 1;
    const bool is_long = end - begin > kLongWord;
    for (; begin < end; ++begin) {
      out += html[begin];
      if (is_long && html[begin] == '_') out += "<wbr>";
    }
  }
  return out;
}

bool is_long(const Cell& cell) { return drawing::characters_in(cell.text) > kLongCell; }

}  // namespace

Cell Cell::of(std::optional<double> value, std::string shown) {
  const bool known = value && std::isfinite(*value);
  Cell cell(known ? std::move(shown) : "-");
  if (known) cell.number = value;
  cell.is_number = true;
  return cell;
}

Cell Cell::count(std::optional<double> value) {
  return of(value, value ? fmt::format("{}", *value) : "");
}

Cell Cell::marked(std::string shown, std::string kind) {
  Cell cell(std::move(shown));
  cell.kind = std::move(kind);
  return cell;
}

Table::Table(std::string name, std::string caption, std::vector<std::string> columns)
    : name_(std::move(name)), caption_(std::move(caption)), columns_(std::move(columns)) {}

void Table::add(std::vector<Cell> cells, int system, std::string benchmark) {
  rows_.push_back({std::move(cells), system, std::move(benchmark)});
}

std::string owner_attributes(int system, std::string_view benchmark) {
  std::string text;
  if (system >= 0) text += fmt::format(" data-system=\"{}\"", system);
  if (!benchmark.empty()) text += fmt::format(" data-benchmark=\"{}\"", escape(benchmark));
  return text;
}

std::string Table::html() const {
  std::string html = fmt::format("<div class=\"table\"{}>\n<div class=\"tools\">",
                                 owner_attributes(-1, only_benchmark()));
  if (rows_.size() >= kWorthFiltering) {
    html += fmt::format(
        "<label class=\"filter\">Filter <input type=\"search\" aria-label=\"Filter: {}\"></label>"
        "<span class=\"count\" role=\"status\"></span>",
        escape(caption_));
  }
  html += data_link(data()) + "</div>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" ";
  html += fmt::format("aria-label=\"{0}\"><table><caption>{0}</caption>\n<thead><tr>",
                      escape(caption_));
  for (size_t i = 0; i < columns_.size(); ++i) {
    const bool number = !rows_.empty() && rows_.front().cells[i].is_number;
    html += fmt::format("<th scope=\"col\"{}><button type=\"button\">{}</button></th>",
                        number ? " class=\"n\"" : "", escape(columns_[i]));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const Line& row : rows_) {
    html += "<tr" + owner_attributes(row.system, row.benchmark) + '>';
    for (size_t i = 0; i < row.cells.size(); ++i) {
      const Cell& cell = row.cells[i];
      std::string classes = cell.kind;
      for (const auto& [is, name] : {std::pair(cell.is_number, "n"), {is_long(cell), "wrap"}}) {
        if (is) classes += classes.empty() ? name : std::string(" ") + name;
      }
      html += i == 0 ? "<th scope=\"row\"" : "<td";
      if (!classes.empty()) html += fmt::format(" class=\"{}\"", classes);
      if (cell.number) html += fmt::format(" data-value=\"{:.9g}\"", *cell.number);
      html +=
          i == 0 ? '>' + breakable(escape(cell.text)) + "</th>" : '>' + escape(cell.text) + "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div></div>\n";
}

std::string Table::only_benchmark() const {
  const bool is_one = !rows_.empty() && std::ranges::all_of(rows_, [&](const Line& row) {
    return row.benchmark == rows_.front().benchmark;
  });
  return is_one ? rows_.front().benchmark : "";
}

Data Table::data() const {
  Data data{name_, columns_, {}};
  for (const Line& row : rows_) {
    data.rows.emplace_back();
    for (const Cell& cell : row.cells) {
      data.rows.back().push_back(cell.number      ? fmt::format("{}", *cell.number)
                                 : cell.is_number ? ""
                                                  : cell.text);
    }
  }
  return data;
}

}  // namespace strata::report
