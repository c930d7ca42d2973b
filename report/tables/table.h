// Tables that sort and filter in a browser, and stand without it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drawing/text.h"
#include "report/tables/data.h"

namespace strata::report {

// Its text of any origin; a number stands at the right and sorts by its value.
struct Cell {
  std::string text;
  std::optional<double> number;
  bool is_number = false;
  std::string kind;  // a class of page.css, such as "bad"; our own words alone

  Cell(std::string shown) : text(std::move(shown)) {}  // NOLINT: a cell is mostly text
  Cell(const char* shown) : text(shown) {}             // NOLINT
  // As `shown` says it; "-" where there is none, or it is not finite.
  static Cell of(std::optional<double> value, std::string shown);
  static Cell of(std::optional<double> value) { return of(value, drawing::short_number(value)); }
  // All digits of a whole number.
  static Cell count(std::optional<double> value);
  static Cell marked(std::string shown, std::string kind);
};

class Table {
 public:
  // `name` is that of its data's file.
  Table(std::string name, std::string caption, std::vector<std::string> columns);

  // `system` (>= 0): the row is that system's, and is marked with it; `benchmark`: shown with it.
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

  std::string name_, caption_;
  std::vector<std::string> columns_;
  std::vector<Line> rows_;
};

// Attributes that say whose an element is, for the choices at the top of a page; with a space
// before each.
std::string owner_attributes(int system, std::string_view benchmark);

}  // namespace strata::report
