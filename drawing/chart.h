// Charts with two axes: lines, points, columns, and what is drawn behind and beside them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drawing/marks.h"

namespace strata::drawing {

struct Line {
  Owner owner;
  std::vector<std::pair<double, double>> points;  // a single one is drawn as a dot
  bool dashed = false, bold = false;
  std::string tip;
};
struct Point {
  Owner owner;
  double x = 0, y = 0;
  std::string tip;
  Shape shape = Shape::kDot;
};
struct Column {
  double from = 0, to = 0, height = 0;
};
// A line behind the points, with its name at its end.
struct Guide {
  std::vector<std::pair<double, double>> points;
  std::string name;
  bool dashed = false;
};
// A line across the chart, with its value in words.
struct Level {
  double value = 0;
  std::string text;
};
// A line from the foot of the chart to its head.
struct Upright {
  double value = 0;
  int colour = -1;
};
// A shaded range of y, and what is special about it.
struct Band {
  double from = 0, to = 0;
  std::string text;
};
// A system's name above the chart, led to the place where its lines end.
struct EndLabel {
  Owner owner;
  double x = 0, y = 0;
};

struct Chart {
  std::vector<Line> lines;  // bold ones lie above the others
  std::vector<Point> points;
  std::vector<Column> columns;
  std::vector<Guide> guides;
  std::vector<Level> levels;
  std::vector<Upright> uprights;
  std::optional<Band> band;
  std::vector<EndLabel>
      labels;                 // the most important first: those without room are counted in a note
  bool names_points = false;  // beside them, where the name covers nothing
  std::vector<Key> legend;
  Axis x, y;
  std::string x_title, y_title;
  double width = kPageWidth;
};
Drawing xy_chart(const Chart& chart);

}  // namespace strata::drawing
