// Charts as SVG: text of a page, coloured by its style sheet, described for screen readers.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/drawing/axis.h"

namespace strata::report {

// Whose a mark is: a place in the report's systems, or none; and its colour, or grey.
struct Owner {
  int system = -1;
  int colour = -1;  // 0 to kColours - 1
  std::string name;
};
inline constexpr int kColours = 7;  // those of results/plots/plot_parts.h

// What a chart shows, in words: its name for a screen reader, and what one should see.
struct Words {
  std::string title, description;
};

// ---- Rows of dots: a value a run.

enum class DotKind : uint8_t { kCounted, kDropped, kFailed };
struct Dot {
  double value = 0;
  DotKind kind = DotKind::kCounted;
  std::string tip;
};
struct DotRow {
  Owner owner;
  std::vector<Dot> dots;
  std::optional<double> mark;  // the number that stands for them
  std::string note;            // at the right
};
std::string dot_chart(const std::vector<DotRow>& rows, const std::string& axis_title,
                      const Words& words);

// ---- Lines over time, samples or steps.

struct Line {
  Owner owner;
  std::vector<std::pair<double, double>> points;
  bool dashed = false, bold = false;
  std::string tip;
};
// A line across the chart, with its value in words.
struct Level {
  double value = 0;
  std::string text;
};
// A system's name above the chart, led to the place where its lines end.
struct EndLabel {
  Owner owner;
  double x = 0, y = 0;
};
struct LineChart {
  std::vector<Line> lines;
  std::vector<EndLabel> labels;
  std::vector<Level> levels;
  std::vector<double> breaks;  // of y, where its scale changes
  Axis x, y;
  std::string x_title, y_title;
};
// Labels that find no room are left out and counted in a note.
std::string line_chart(const LineChart& chart, const Words& words);

// ---- Points, with guides behind them.

struct Point {
  Owner owner;
  double x = 0, y = 0;
  std::string tip;
};
struct Guide {
  std::vector<std::pair<double, double>> points;
  std::string name;
  bool dashed = false;
};
struct ScatterChart {
  std::vector<Point> points;
  std::vector<Guide> guides;
  Axis x, y;
  std::string x_title, y_title;
};
std::string scatter_chart(const ScatterChart& chart, const Words& words);

// ---- Stacked bars.

struct BarRow {
  Owner owner;
  std::vector<double> parts;  // of the names, each at least 0
  std::string note;
};
std::string bar_chart(const std::vector<BarRow>& rows, const std::vector<std::string>& part_names,
                      const std::string& axis_title, const Words& words);

}  // namespace strata::report
