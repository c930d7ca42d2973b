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
  int part = 0;  // its colour: pN of chart.css
  std::string tip;
  std::vector<std::string> labels;  // the first that has room is written inside
};
// Bars of these lengths, one after the other, with tips that name them.
std::vector<Bar> stacked(const std::vector<double>& lengths, const std::vector<std::string>& names);
// The legend of stacked bars.
std::vector<Key> keys_of_parts(const std::vector<std::string>& names);

struct Dot {
  double value = 0;
  Shape shape = Shape::kDot;
  std::string tip;
};

// What a row has in one panel.
struct Entry {
  std::vector<Bar> bars;
  std::vector<Dot> dots;
  std::optional<double> mark;                         // the number that stands for the dots
  std::optional<std::pair<double, double>> interval;  // an error bar
  std::string note;                                   // at the right
};
struct Row {
  Owner owner;
  std::vector<Entry> entries;  // one for each panel
};
struct Panel {
  Axis axis;
  std::string title;
  double width = 0;  // 0: what a page's width leaves
  bool has_zero_line = false;
};
struct RowChart {
  std::vector<Row> rows;
  std::vector<Panel> panels;
  std::vector<Key> legend;
  std::string heading;       // above the rows
  size_t longest_name = 44;  // longer names lose their middle
};
Drawing row_chart(const RowChart& chart);

}  // namespace strata::drawing
