// Tables that sort and filter in a browser, and also work without scripts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drawing/text.h"
#include "report/tables/data.h"

namespace strata::report {

// A cell. Its text may come from any source. A number is right-aligned and sorts by its value.
struct Cell {
  std::string text;
  std::optional<double> number;
  bool is_number = false;
  std::string kind;  // a class of page.css, such as "bad"; never from input

  Cell(std::string shown) : text(std::move(shown)) {}  // NOLINT: a cell is mostly text
  Cell(const char* shown) : text(shown) {}             // NOLINT
  // Shows the number as `shown`, or "-" if it is absent or not finite.
  static Cell of(std::optional<double> value, std::string shown);
  static Cell of(std::optional<double> value) { return of(value, drawing::short_number(value)); }
  // Shows all digits of a whole number.
  static Cell count(std::optional<double> value);
  static Cell marked(std::string shown, std::string kind);
};

class Table {
 public:
  // `name` names the file of its data.
  Table(std::string name, std::string caption, std::vector<std::string> columns);

  // `system` (>= 0) marks the row as that system's; `benchmark` shows it with that benchmark.
  void add(std::vector<Cell> cells, int system = -1, std::string benchmark = "");
  bool empty() const { return rows_.empty(); }
  size_t size() const { return rows_.size(); }

  std::string html() const;
  Data data() const;

 private:
  struct Line {
    std::vector<Cell> cells;
    int system;
    std::string benchmark;
  };

  // Returns the benchmark that all rows share, or an empty text if there are several.
  std::string only_benchmark() const;

  std::string name_, caption_;
  std::vector<std::string> columns_;
  std::vector<Line> rows_;
};

// Returns attributes that name an element's owner, for the choices at the top of a page; a space
// precedes each.
std::string owner_attributes(int system, std::string_view benchmark);

}  // namespace strata::report
