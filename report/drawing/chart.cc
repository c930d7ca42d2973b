#include "report/drawing/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "report/drawing/table.h"
#include "report/drawing/text.h"
#include "results/plots/label_spread.h"
#include "results/plots/plot_parts.h"

namespace strata::report {
namespace {

// Units of a chart's own coordinates, of which a page's pixel has about one.
constexpr double kWidth = 900;
constexpr double kRow = 22;
constexpr double kCharacter = 7.2;  // of text of 12 units, of a wide font
constexpr size_t kLongestName = 44, kLongestLabel = 34;

std::string colour_class(const Owner& owner) {
  return owner.colour < 0 ? "grey" : fmt::format("c{}", owner.colour % kColours);
}

// A group of marks of one owner.
std::string begin_group(const Owner& owner) {
  return fmt::format("<g class=\"{}\"{}>", colour_class(owner), owner_attributes(owner.system, ""));
}

std::string tip_of(const std::string& text) {
  return text.empty() ? "" : "<title>" + escape(text) + "</title>";
}

std::string text_at(double x, double y, const std::string& text, const char* kind,
                    const std::string& more = "") {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>", kind, x, y, more,
                     escape(text, 120));
}

std::string path_of(const std::vector<std::pair<double, double>>& points) {
  std::string path;
  for (const auto& [x, y] : points) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', x, y);
  }
  return path;
}

std::string open_chart(double height, const Words& words) {
  return fmt::format(
      "<div class=\"scroll chart\" tabindex=\"0\" role=\"region\" aria-label=\"{2}\">"
      "<svg role=\"img\" viewBox=\"0 0 {0} {1:.0f}\" width=\"{0}\" height=\"{1:.0f}\" "
      "aria-label=\"{2}. {3}\">\n",
      kWidth, height, escape(words.title), escape(words.description, 1000));
}
constexpr char kCloseChart[] = "</svg></div>\n";

// The rectangle that values are drawn in, with y growing downwards.
struct Frame {
  double left, top, right, bottom;

  double x(const Axis& axis, double value) const {
    return left + share(axis, value) * (right - left);
  }
  double y(const Axis& axis, double value) const {
    return bottom - share(axis, value) * (bottom - top);
  }

  // Of the way along an axis; what it does not hold stands just beyond its ends.
  static double share(const Axis& axis, double value) {
    const double place = axis.place(value);
    return std::isnan(place) ? -0.02 : std::clamp(place, -0.02, 1.02);
  }

  std::string x_axis(const Axis& axis, const std::string& title) const {
    std::string svg;
    for (const double tick : axis.ticks) {
      svg += fmt::format("<path class=\"grid\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/>", x(axis, tick),
                         top, bottom);
      svg += text_at(x(axis, tick), bottom + 16, axis.label(tick), "tick middle");
    }
    return svg + text_at((left + right) / 2, bottom + 36, title, "title middle") + '\n';
  }
  std::string y_axis(const Axis& axis, const std::string& title) const {
    std::string svg;
    for (const double tick : axis.ticks) {
      svg += fmt::format("<path class=\"grid\" d=\"M{0:.1f} {2:.1f}H{1:.1f}\"/>", left, right,
                         y(axis, tick));
      svg += text_at(left - 6, y(axis, tick) + 4, axis.label(tick), "tick end");
    }
    const double middle = (top + bottom) / 2;
    return svg +
           text_at(14, middle, title, "title middle",
                   fmt::format(" transform=\"rotate(-90 14 {:.1f})\"", middle)) +
           '\n';
  }
};

std::string shortened(const std::string& name, size_t most = kLongestName) {
  return results::shortened(plain(name), most);
}

size_t characters(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

template <typename Rows>
double widest_name(const Rows& rows) {
  size_t most = 0;
  for (const auto& row : rows) most = std::max(most, characters(shortened(row.owner.name)));
  return 24 + kCharacter * static_cast<double>(most);
}
template <typename Rows>
double widest_note(const Rows& rows) {
  size_t most = 0;
  for (const auto& row : rows) most = std::max(most, characters(row.note));
  return 20 + kCharacter * static_cast<double>(most);
}

// Of the longest one.
double length_of_labels(const std::vector<EndLabel>& labels) {
  size_t most = 0;
  for (const EndLabel& label : labels) {
    most = std::max(most, characters(shortened(label.owner.name, kLongestLabel)));
  }
  return kCharacter * static_cast<double>(most);
}

std::string row_name(const Owner& owner, double right, double y) {
  return fmt::format("<text class=\"name end\" x=\"{:.1f}\" y=\"{:.1f}\">{}{}</text>", right - 10,
                     y + 4, tip_of(owner.name), escape(shortened(owner.name), 120));
}

std::string dot_mark(const Dot& dot, double x, double y) {
  const std::string tip = tip_of(dot.tip);
  switch (dot.kind) {
    case DotKind::kCounted:
      return fmt::format("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\">{}</circle>",
                         x, y, tip);
    case DotKind::kDropped:
      return fmt::format(
          "<circle class=\"hollow\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\">{}</circle>", x, y, tip);
    case DotKind::kFailed:
      break;
  }
  return fmt::format("<path class=\"cross\" d=\"M{:.1f} {:.1f}l7 7m0 -7l-7 7\">{}</path>", x - 3.5,
                     y - 3.5, tip);
}

}  // namespace

std::string dot_chart(const std::vector<DotRow>& rows, const std::string& axis_title,
                      const Words& words) {
  std::vector<double> values;
  for (const DotRow& row : rows) {
    for (const Dot& dot : row.dots) values.push_back(dot.value);
    if (row.mark) values.push_back(*row.mark);
  }
  const Axis axis = time_axis(values);
  const double height = kRow * static_cast<double>(rows.size());
  const Frame frame{widest_name(rows), 8, kWidth - widest_note(rows), 8 + height};
  std::string svg = open_chart(height + 52, words) + frame.x_axis(axis, axis_title);
  for (size_t i = 0; i < rows.size(); ++i) {
    const DotRow& row = rows[i];
    const double y = frame.top + kRow * (static_cast<double>(i) + 0.5);
    svg += begin_group(row.owner) + row_name(row.owner, frame.left, y);
    for (const Dot& dot : row.dots) svg += dot_mark(dot, frame.x(axis, dot.value), y);
    if (row.mark) {
      svg += fmt::format("<path class=\"mark\" d=\"M{:.1f} {:.1f}v16\"/>", frame.x(axis, *row.mark),
                         y - 8);
    }
    svg += text_at(frame.right + 10, y + 4, row.note, "tick") + "</g>\n";
  }
  return svg + kCloseChart;
}

std::string line_chart(const LineChart& chart, const Words& words) {
  constexpr double kPlot = 340, kSpacing = 18;
  const double slanted = length_of_labels(chart.labels) * std::numbers::sqrt2 / 2;
  const double top = chart.labels.empty() ? 12 : slanted + 36;
  const double across = std::max(20.0, slanted + 10);
  const Frame frame{70, top, kWidth - across, top + kPlot};
  std::string svg = open_chart(frame.bottom + 48, words) + frame.x_axis(chart.x, chart.x_title) +
                    frame.y_axis(chart.y, chart.y_title);
  for (const Line& line : chart.lines) {
    std::vector<std::pair<double, double>> points;
    for (const auto& [x, y] : line.points) {
      points.emplace_back(frame.x(chart.x, x), frame.y(chart.y, y));
    }
    svg += begin_group(line.owner);
    if (points.size() == 1) {
      svg += dot_mark({0, DotKind::kCounted, line.tip}, points[0].first, points[0].second);
    } else {
      svg += fmt::format("<path class=\"line{}{}\" d=\"{}\">{}</path>", line.bold ? " bold" : "",
                         line.dashed ? " dashed" : "", path_of(points), tip_of(line.tip));
    }
    svg += "</g>\n";
  }
  for (const double value : chart.breaks) {
    svg += fmt::format("<path class=\"break\" d=\"M{0:.1f} {2:.1f}H{1:.1f}\"/>\n", frame.left,
                       frame.right, frame.y(chart.y, value));
  }
  for (const Level& level : chart.levels) {
    const double y = frame.y(chart.y, level.value);
    svg += fmt::format("<path class=\"level\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", frame.left, y,
                       frame.right);
    svg += text_at(frame.left + 6, y - 5, level.text, "tick") + '\n';
  }

  const auto room = static_cast<size_t>((frame.right - frame.left) / kSpacing);
  const size_t shown = std::min(room, chart.labels.size());
  std::vector<EndLabel> labels(chart.labels.begin(),
                               chart.labels.begin() + static_cast<std::ptrdiff_t>(shown));
  std::stable_sort(labels.begin(), labels.end(),
                   [](const EndLabel& a, const EndLabel& b) { return a.x < b.x; });
  std::vector<double> wanted;
  for (const EndLabel& label : labels) wanted.push_back(frame.x(chart.x, label.x));
  const std::vector<double> places =
      results::spread_labels(wanted, kSpacing, frame.left, frame.right);
  for (size_t i = 0; i < labels.size(); ++i) {
    const double y = frame.top - 22;
    svg += begin_group(labels[i].owner) +
           fmt::format("<path class=\"leader\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}V{:.1f}\"/>",
                       places[i], y + 2, wanted[i], frame.top - 4, frame.y(chart.y, labels[i].y)) +
           text_at(places[i], y, shortened(labels[i].owner.name, kLongestLabel), "name",
                   fmt::format(" transform=\"rotate(-45 {:.1f} {:.1f})\"", places[i], y)) +
           "</g>\n";
  }
  if (shown < chart.labels.size()) {
    svg +=
        text_at(kWidth - 10, frame.bottom + 36,
                fmt::format("{} more have no name here", chart.labels.size() - shown), "tick end");
  }
  return svg + kCloseChart;
}

std::string scatter_chart(const ScatterChart& chart, const Words& words) {
  constexpr double kPlot = 340;
  const Frame frame{70, 12, kWidth - 190, 12 + kPlot};
  std::string svg = open_chart(frame.bottom + 48, words) + frame.x_axis(chart.x, chart.x_title) +
                    frame.y_axis(chart.y, chart.y_title);
  double name_above = -1e9;
  for (const Guide& guide : chart.guides) {
    std::vector<std::pair<double, double>> points;
    for (const auto& [x, y] : guide.points) {
      points.emplace_back(frame.x(chart.x, x), frame.y(chart.y, y));
    }
    if (points.empty()) continue;
    svg += fmt::format("<path class=\"guide{}\" d=\"{}\"/>", guide.dashed ? " dashed" : "",
                       path_of(points));
    name_above = std::max(points.back().second + 4, name_above + 14);
    svg += text_at(points.back().first + 6, name_above, guide.name, "tick") + '\n';
  }
  // A name where it covers no other; the rest have theirs when pointed at.
  struct Box {
    double left, top, right, bottom;
  };
  std::vector<Box> taken;
  for (const Point& point : chart.points) {
    const double x = frame.x(chart.x, point.x), y = frame.y(chart.y, point.y);
    taken.push_back({x - 4, y - 4, x + 4, y + 4});
  }
  for (const Point& point : chart.points) {
    const double x = frame.x(chart.x, point.x), y = frame.y(chart.y, point.y);
    svg += begin_group(point.owner) + dot_mark({0, DotKind::kCounted, point.tip}, x, y);
    const std::string name = shortened(point.owner.name, kLongestLabel);
    const Box box{x + 6, y - 7, x + 6 + kCharacter * static_cast<double>(characters(name)), y + 7};
    const bool fits =
        box.right < kWidth && std::none_of(taken.begin(), taken.end(), [&](const Box& b) {
          return b.left < box.right && box.left < b.right && b.top < box.bottom &&
                 box.top < b.bottom;
        });
    if (fits) {
      taken.push_back(box);
      svg += text_at(x + 8, y + 4, name, "name");
    }
    svg += "</g>\n";
  }
  return svg + kCloseChart;
}

std::string bar_chart(const std::vector<BarRow>& rows, const std::vector<std::string>& part_names,
                      const std::string& axis_title, const Words& words) {
  std::vector<double> totals;
  for (const BarRow& row : rows) {
    double total = 0;
    for (const double part : row.parts) total += part;
    totals.push_back(total);
  }
  const Axis axis = linear_axis(totals, true);
  const double height = kRow * static_cast<double>(rows.size());
  const Frame frame{widest_name(rows), 30, kWidth - widest_note(rows), 30 + height};
  std::string svg = open_chart(frame.bottom + 48, words);
  double x = frame.left;
  for (size_t part = 0; part < part_names.size(); ++part) {
    svg += fmt::format("<rect class=\"part p{}\" x=\"{:.1f}\" y=\"6\" width=\"12\" height=\"12\"/>",
                       part, x);
    svg += text_at(x + 17, 16, part_names[part], "tick");
    x += 34 + kCharacter * static_cast<double>(part_names[part].size());
  }
  svg += frame.x_axis(axis, axis_title);
  for (size_t i = 0; i < rows.size(); ++i) {
    const BarRow& row = rows[i];
    const double y = frame.top + kRow * (static_cast<double>(i) + 0.5);
    svg += begin_group(row.owner) + row_name(row.owner, frame.left, y);
    double before = 0;
    for (size_t part = 0; part < row.parts.size(); ++part) {
      const double from = frame.x(axis, before), to = frame.x(axis, before + row.parts[part]);
      before += row.parts[part];
      svg += fmt::format(
          "<rect class=\"part p{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
          "height=\"15\">{}</rect>",
          part, from, y - 7.5, to - from,
          tip_of(fmt::format("{}: {}", part_names[part], axis.label(row.parts[part]))));
    }
    svg += text_at(frame.right + 10, y + 4, row.note, "tick") + "</g>\n";
  }
  return svg + kCloseChart;
}

}  // namespace strata::report
