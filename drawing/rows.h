// Charts with a row for each system or run, and one or more panels of values beside the names.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drawing/marks.h"

namespace strata::drawing {

struct Bar {
  double from = 0, to = 0;
  int part = 0;  // colour: pN of chart.css
  std::string tip;
  std::vector<std::string> labels;  // the first one that fits is written inside
  bool is_hatched = false;
};
// Returns bars of these lengths in a row, with tips that name them.
std::vector<Bar> stacked(const std::vector<double>& lengths, const std::vector<std::string>& names);
// Returns the legend of stacked bars.
std::vector<Key> keys_of_parts(const std::vector<std::string>& names);

struct Dot {
  double value = 0;
  Shape shape = Shape::kDot;
  std::string tip;
};

// The contents of a row in one panel.
struct Entry {
  std::vector<Bar> bars;
  std::vector<Dot> dots;
  std::optional<double> mark;                         // a summary of the dots
  std::optional<std::pair<double, double>> interval;  // an error bar
  std::string note;                                   // text at the right
};
struct Row {
  Owner owner;
  std::vector<Entry> entries;  // one for each panel
};
struct Panel {
  Axis axis;
  std::string title;
  double width = 0;  // 0: the rest of the page's width
  bool has_zero_line = false;
};
struct RowChart {
  std::vector<Row> rows;
  std::vector<Panel> panels;
  std::vector<Key> legend;
  std::string heading;        // text above the rows
  double width = kPageWidth;  // if it is narrow, names stand above their rows
  size_t longest_name = 44;   // longer names are shortened in the middle
};
Drawing row_chart(const RowChart& chart);

}  // namespace strata::drawing
