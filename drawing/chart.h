// Charts with two axes: lines, points and columns, with guides behind and labels beside them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drawing/marks.h"

namespace strata::drawing {

struct Line {
  Owner owner;
  std::vector<std::pair<double, double>> points;  // a single point is drawn as a dot
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
// A vertical line through the chart.
struct Upright {
  double value = 0;
  int colour = -1;
};
// A shaded range of y, with its meaning.
struct Band {
  double from = 0, to = 0;
  std::string text;
};
// A system's name above the chart, connected to the end of its lines.
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
  // The most important first. Labels without room are counted in a note.
  std::vector<EndLabel> labels;
  bool names_points = false;  // names points where the name covers nothing
  std::vector<Key> legend;
  Axis x, y;
  std::string x_title, y_title;
  double width = kPageWidth;
};
Drawing xy_chart(const Chart& chart);

// Returns the chart for a telephone: narrow, without names at points, and with only the bold lines
// if there are many.
Chart for_narrow_screens(Chart chart);

}  // namespace strata::drawing
