#include "drawing/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "drawing/label_spread.h"
#include "drawing/text.h"

namespace strata::drawing {
namespace {

constexpr double kPlot = 400, kNarrowPlot = 300, kBelow = 48;
constexpr size_t kNarrowLabels = 5;
constexpr size_t kLongestName = 34;  // longest name of a point
constexpr size_t kLongestLabel = 160;

std::vector<std::pair<double, double>> placed(const std::vector<std::pair<double, double>>& points,
                                              const Chart& chart, const Frame& frame) {
  std::vector<std::pair<double, double>> places;
  for (const auto& [x, y] : points) {
    places.emplace_back(frame.x(chart.x, x), frame.y(chart.y, y));
  }
  return places;
}

// ---- Labels above the chart

struct PlacedLabel {
  const EndLabel* label;
  double end;  // x position where its lines end
  double x, y;
  bool ends_at_x = false;
};

struct Labels {
  std::vector<PlacedLabel> placed;
  double height = 0;
  bool are_slanted = false;
};

// The height and width of a slanted label per unit of its length.
constexpr double kDegrees = 55;
const double kRise = std::sin(kDegrees * std::numbers::pi / 180),
             kRun = std::cos(kDegrees * std::numbers::pi / 180);

std::string name_of(const EndLabel& label, double width) {
  const auto most = static_cast<size_t>((width - 12) / kCharacter);
  return label.owner.label(std::min(most, kLongestLabel));
}

std::vector<PlacedLabel> sorted_by_end(const Chart& chart, size_t most, double left, double right) {
  std::vector<PlacedLabel> labels;
  for (size_t i = 0; i < std::min(most, chart.labels.size()); ++i) {
    const EndLabel& label = chart.labels[i];
    const double place = std::clamp(chart.x.place(label.x), 0.0, 1.0);
    labels.push_back({&label, left + place * (right - left), 0, 0});
  }
  std::ranges::stable_sort(labels, {}, &PlacedLabel::end);
  return labels;
}

// Puts labels in one row each, the first end at the bottom, beside the line that leads up to it.
// Heights count from the chart upwards.
Labels flat_labels(const Chart& chart, double left, double right) {
  constexpr double kRow = 18, kGap = 6;
  const size_t most = is_narrow(chart.width) ? kNarrowLabels : chart.labels.size();
  Labels labels{.placed = sorted_by_end(chart, most, left, right)};
  for (PlacedLabel& label : labels.placed) {
    const double width = width_of(name_of(*label.label, chart.width));
    label.ends_at_x = width + kGap < label.end;
    label.x = label.ends_at_x ? label.end - kGap
                              : std::min(label.end + kGap, std::max(kGap, chart.width - width));
    labels.height += kRow;
    label.y = labels.height;
  }
  if (!labels.placed.empty()) labels.height += kRow;
  return labels;
}

// Puts slanted labels side by side, as near to their ends as possible and as many as fit.
Labels slanted_labels(const Chart& chart, double left, double right) {
  constexpr double kLine = 17, kLeaders = 40, kFirst = 20;
  const double spacing = kLine / kRise;
  size_t most = std::min(chart.labels.size(), labels_that_fit(spacing, kFirst, right + 30));
  Labels labels{.placed = {}, .height = kLeaders, .are_slanted = true};
  double last = 0;
  for (;; --most) {
    labels.placed = sorted_by_end(chart, most, left, right);
    // Shifts labels to the left so that none ends beyond the picture.
    last = right + 30;
    for (size_t i = 0; i < most; ++i) {
      const double end =
          chart.width - 10 - width_of(name_of(*labels.placed[i].label, chart.width)) * kRun;
      last = std::min(last, end + spacing * static_cast<double>(most - 1 - i));
    }
    if (most == 0 || labels_that_fit(spacing, kFirst, last) >= most) break;
  }
  std::vector<double> ends;
  double longest = 0;
  for (const PlacedLabel& label : labels.placed) {
    ends.push_back(label.end);
    longest = std::max(longest, width_of(name_of(*label.label, chart.width)));
  }
  const std::vector<double> places = spread_labels(ends, spacing, kFirst, last);
  for (size_t i = 0; i < places.size(); ++i) {
    labels.placed[i].x = places[i];
    labels.placed[i].y = kLeaders;
  }
  labels.height += longest * kRise + 8;
  return labels;
}

Labels place_labels(const Chart& chart, double left, double right) {
  constexpr size_t kFew = 8;
  return chart.labels.size() <= kFew || is_narrow(chart.width) ? flat_labels(chart, left, right)
                                                               : slanted_labels(chart, left, right);
}

std::string draw_labels(const Labels& labels, const Chart& chart, const Frame& frame) {
  std::string elements;
  for (const PlacedLabel& label : labels.placed) {
    const double y = frame.top - label.y, foot = frame.y(chart.y, label.label->y);
    const std::string leader = labels.are_slanted
                                   ? fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}V{:.1f}", label.x,
                                                 y + 6, label.end, frame.top - 6, foot)
                                   : fmt::format("M{:.1f} {:.1f}V{:.1f}", label.end, y - 9, foot);
    elements +=
        begin_group(label.label->owner) + fmt::format("<path class=\"leader\" d=\"{}\"/>", leader) +
        text_at(label.x, y, name_of(*label.label, chart.width),
                fmt::format("name{}{}", label.ends_at_x ? " end" : "",
                            label.label->owner.colour < 0 ? " soft" : ""),
                labels.are_slanted
                    ? fmt::format(" transform=\"rotate({} {:.1f} {:.1f})\"", -kDegrees, label.x, y)
                    : "") +
        kEndGroup;
  }
  if (const size_t others = chart.labels.size() - labels.placed.size(); others > 0) {
    elements += text_at(chart.width - 10, frame.bottom + (is_narrow(chart.width) ? 52 : 36),
                        fmt::format("{} more labels do not fit", others), "tick end");
  }
  return elements;
}

// ---- Marks

std::string draw_lines(const Chart& chart, const Frame& frame) {
  std::vector<const Line*> order;
  for (const Line& line : chart.lines) order.push_back(&line);
  std::ranges::stable_partition(order, [](const Line* line) { return !line->bold; });
  std::string elements;
  for (const Line* line : order) {
    const auto points = placed(line->points, chart, frame);
    elements += begin_group(line->owner);
    if (points.size() == 1) {
      elements += mark_at(Shape::kDot, points[0].first, points[0].second, line->tip);
    } else {
      elements +=
          fmt::format("<path class=\"line{}{}\" d=\"{}\">{}</path>", line->bold ? " bold" : "",
                      line->dashed ? " dashed" : "", path_of(points), tip_of(line->tip));
    }
    elements += kEndGroup;
  }
  return elements;
}

struct Box {
  double left, top, right, bottom;

  bool meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

// Adds the boxes of the guides' names to `taken`.
std::string draw_guides(const Chart& chart, const Frame& frame, std::vector<Box>& taken) {
  std::string elements;
  double name_above = -1e9;
  for (const Guide& guide : chart.guides) {
    const auto points = placed(guide.points, chart, frame);
    if (points.empty()) continue;
    elements += fmt::format("<path class=\"guide{}\" d=\"{}\"/>", guide.dashed ? " dashed" : "",
                            path_of(points));
    name_above = std::max(points.back().second + 4, name_above + 14);
    const double x = points.back().first + 6;
    elements += text_at(x, name_above, guide.name, "tick") + '\n';
    taken.push_back({x, name_above - 11, x + width_of(guide.name), name_above + 3});
  }
  return elements;
}

std::string draw_columns(const Chart& chart, const Frame& frame) {
  if (chart.columns.empty()) return "";
  std::string elements = begin_group(Owner::coloured(0));
  for (const Column& column : chart.columns) {
    const double left = frame.x(chart.x, column.from), top = frame.y(chart.y, column.height);
    elements += fmt::format(
        "<rect class=\"column\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
        left, top, std::max(0.8, frame.x(chart.x, column.to) - left), frame.y(chart.y, 0) - top);
  }
  return elements + kEndGroup;
}

// Names the points whose names cover nothing that is taken; the rest show their names on hover.
std::string draw_points(const Chart& chart, const Frame& frame, std::vector<Box> taken) {
  for (const Point& point : chart.points) {
    const double x = frame.x(chart.x, point.x), y = frame.y(chart.y, point.y);
    taken.push_back({x - 4, y - 4, x + 4, y + 4});
  }
  std::string elements;
  for (const Point& point : chart.points) {
    const double x = frame.x(chart.x, point.x), y = frame.y(chart.y, point.y);
    elements += begin_group(point.owner) + mark_at(point.shape, x, y, point.tip);
    const std::string name = chart.names_points ? point.owner.label(kLongestName) : "";
    const Box box{x + 6, y - 7, x + 6 + width_of(name), y + 7};
    const bool fits = !name.empty() && box.right < chart.width &&
                      std::ranges::none_of(taken, [&](const Box& b) { return b.meets(box); });
    if (fits) {
      taken.push_back(box);
      elements += text_at(x + 8, y + 4, name, point.owner.colour < 0 ? "name soft" : "name");
    }
    elements += kEndGroup;
  }
  return elements;
}

std::string draw_band(const Band& band, const Axis& axis, const Frame& frame) {
  const double top = frame.y(axis, band.to), bottom = frame.y(axis, band.from);
  return fmt::format(
      "<rect class=\"band\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
      frame.left, top, frame.right - frame.left, bottom - top);
}

}  // namespace

Chart for_narrow_screens(Chart chart) {
  constexpr size_t kManyLines = 60;
  chart.width = kNarrowWidth;
  chart.names_points = false;
  if (chart.lines.size() > kManyLines) {
    std::erase_if(chart.lines, [](const Line& line) { return !line.bold; });
  }
  return chart;
}

Drawing xy_chart(const Chart& chart) {
  const bool has_names = chart.names_points || !chart.guides.empty();
  const bool narrow = is_narrow(chart.width);
  const double left = narrow ? 64 : 76,
               right = chart.width - (has_names ? (narrow ? 100 : 190) : (narrow ? 14 : 30)),
               legend_left = narrow ? 8 : left,
               legend_end = legend_height(chart.legend, legend_left, chart.width);
  const Labels labels = place_labels(chart, left, right);
  const double top = legend_end + std::max(12.0, labels.height);
  const Frame frame{left, top, right, top + (narrow ? kNarrowPlot : kPlot)};
  std::string elements = legend(chart.legend, legend_left, 0, chart.width);
  if (chart.band) elements += draw_band(*chart.band, chart.y, frame);
  elements += frame.x_axis(chart.x, chart.x_title) + frame.y_axis(chart.y, chart.y_title) +
              draw_columns(chart, frame);
  std::vector<Box> taken;
  elements += draw_guides(chart, frame, taken);
  elements += draw_lines(chart, frame) + draw_points(chart, frame, std::move(taken));
  for (const Level& level : chart.levels) {
    const double y = frame.y(chart.y, level.value);
    elements += fmt::format("<path class=\"level\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", frame.left, y,
                            frame.right) +
                text_at(frame.left + 6, y - 5, level.text, "tick halo") + '\n';
  }
  if (chart.band) {
    // Levels have their text at the left.
    elements += text_at(frame.right - 6, frame.y(chart.y, chart.band->from) - 6, chart.band->text,
                        "tick halo end") +
                '\n';
  }
  for (const Upright& upright : chart.uprights) {
    elements += begin_group(Owner::coloured(upright.colour)) +
                fmt::format("<path class=\"upright\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>",
                            frame.x(chart.x, upright.value), frame.top, frame.bottom) +
                kEndGroup;
  }
  elements += draw_labels(labels, chart, frame);
  return {chart.width, frame.bottom + kBelow + (narrow ? 12 : 0), elements};
}

}  // namespace strata::drawing
