#include "drawing/rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "drawing/text.h"

namespace strata::drawing {
namespace {

constexpr double kRow = 22, kBar = 15, kName = 18;
constexpr size_t kManyRows = 15;  // more rows repeat the axis: the foot is far from the head

// Draws slanted lines over a bar.
std::string hatching(double from, double to, double y) {
  constexpr double kApart = 6;
  std::string path;
  for (double begin = from - kBar; begin < to; begin += kApart) {
    const double left = std::max(begin, from), right = std::min(begin + kBar, to);
    if (!(left < right)) continue;
    const double foot = y + kBar / 2 + begin;
    path += fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", left, foot - left, right, foot - right);
  }
  return path.empty() ? "" : fmt::format("<path class=\"hatch\" d=\"{}\"/>", path);
}

std::string bar_mark(const Bar& bar, const Frame& frame, const Axis& axis, double y) {
  constexpr double kVisible = 0.8, kInside = kCharacter * 10 / 12;
  constexpr int kDark = 0;
  const double from = std::max(frame.x(axis, bar.from), frame.left),
               to = std::max(frame.x(axis, bar.to), from), width = to - from;
  std::string element = fmt::format(
      "<rect class=\"part p{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\">{}</rect>",
      bar.part, from, y - kBar / 2, std::max(width, kVisible), kBar, tip_of(bar.tip));
  if (bar.is_hatched) element += hatching(from, to, y);
  const auto label = std::ranges::find_if(bar.labels, [&](const std::string& text) {
    return kInside * static_cast<double>(characters_in(text) + 1) < width;
  });
  if (label == bar.labels.end()) return element;
  return element +
         text_at((from + to) / 2, y + 3.5, *label, bar.part == kDark ? "inside light" : "inside");
}

std::string entry_marks(const Entry& entry, const Panel& panel, const Frame& frame, double y) {
  std::string elements;
  for (const Bar& bar : entry.bars) elements += bar_mark(bar, frame, panel.axis, y);
  if (entry.interval) {
    elements +=
        fmt::format("<path class=\"interval\" d=\"M{0:.1f} {2:.1f}v8m0 -4H{1:.1f}m0 -4v8\"/>",
                    frame.x(panel.axis, entry.interval->first),
                    frame.x(panel.axis, entry.interval->second), y - 4);
  }
  for (const Dot& dot : entry.dots) {
    elements += mark_at(dot.shape, frame.x(panel.axis, dot.value), y, dot.tip);
  }
  if (entry.mark) elements += mark_at(Shape::kUpright, frame.x(panel.axis, *entry.mark), y);
  return elements + text_at(frame.right + 10, y + 4, entry.note, "tick");
}

double widest_note(const std::vector<Row>& rows, size_t panel) {
  double widest = 0;
  for (const Row& row : rows) widest = std::max(widest, width_of(row.entries[panel].note));
  return 20 + widest;
}

// A row holds its name, too, if names stand above.
double row_height(const RowChart& chart) { return is_narrow(chart.width) ? kRow + kName : kRow; }

std::vector<Frame> frames_of(const RowChart& chart, double left, double top) {
  const double bottom = top + row_height(chart) * static_cast<double>(chart.rows.size());
  std::vector<Frame> frames;
  for (size_t i = 0; i < chart.panels.size(); ++i) {
    const double note = widest_note(chart.rows, i), wanted = chart.panels[i].width;
    const double right = wanted > 0 && !is_narrow(chart.width) ? left + wanted : chart.width - note;
    frames.push_back({left, top, right, bottom});
    left = right + note + 12;
  }
  return frames;
}

// Shades every other row to guide the eye.
std::string bands(const Frame& frame, size_t rows, double height) {
  std::string elements;
  for (size_t row = 0; row < rows; row += 2) {
    elements += fmt::format(
        "<rect class=\"band\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\"/>",
        frame.left, frame.top + height * static_cast<double>(row), frame.right - frame.left,
        height);
  }
  return elements + '\n';
}

std::string panel_around(const Panel& panel, const Frame& frame, size_t rows, double height) {
  std::string elements = bands(frame, rows, height) + frame.x_axis(panel.axis, panel.title);
  if (rows > kManyRows) elements += frame.x_labels(panel.axis, frame.top - 6);
  if (panel.has_zero_line) {
    elements += fmt::format("<path class=\"guide\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n",
                            frame.x(panel.axis, 0), frame.top, frame.bottom);
  }
  return elements;
}

}  // namespace

std::vector<Bar> stacked(const std::vector<double>& lengths,
                         const std::vector<std::string>& names) {
  std::vector<Bar> bars;
  double end = 0;
  for (size_t part = 0; part < lengths.size(); ++part) {
    const double from = end;
    end += lengths[part];
    bars.push_back({from,
                    end,
                    static_cast<int>(part),
                    fmt::format("{}: {}", names[part], short_number(lengths[part])),
                    {}});
  }
  return bars;
}

std::vector<Key> keys_of_parts(const std::vector<std::string>& names) {
  std::vector<Key> keys;
  for (const std::string& name : names) {
    keys.push_back({Shape::kPart, static_cast<int>(keys.size()), name});
  }
  return keys;
}

Drawing row_chart(const RowChart& chart) {
  constexpr double kBelowRows = 52, kHeading = 20, kLegend = 14;
  const bool names_above = is_narrow(chart.width);
  const double height = row_height(chart);
  double names = names_above ? 8 : 24;
  for (const Row& row : chart.rows) {
    if (!names_above) {
      names = std::max(names, 24 + width_of(row.owner.label(chart.longest_name)));
    }
  }
  std::vector<Frame> frames = frames_of(chart, names, 0);
  Drawing drawing{.width = chart.width};
  for (size_t i = 0; i < frames.size(); ++i) {
    drawing.width = std::max(drawing.width, frames[i].right + widest_note(chart.rows, i));
  }
  const double legend_end = legend_height(chart.legend, kLegend, drawing.width),
               heading_end = legend_end + (chart.heading.empty() ? 0 : kHeading),
               top = heading_end + (chart.rows.size() > kManyRows ? 24 : 8);
  drawing.elements = legend(chart.legend, kLegend, 0, drawing.width);
  if (!chart.heading.empty()) {
    drawing.elements += text_at(names, heading_end - 4, chart.heading, "subheading") + '\n';
  }
  for (size_t i = 0; i < frames.size(); ++i) {
    frames[i].top += top;
    frames[i].bottom += top;
    drawing.elements += panel_around(chart.panels[i], frames[i], chart.rows.size(), height);
  }
  for (size_t i = 0; i < chart.rows.size(); ++i) {
    const Row& row = chart.rows[i];
    const double end = top + height * static_cast<double>(i + 1), y = end - kRow / 2;
    drawing.elements +=
        begin_group(row.owner) +
        fmt::format("<text class=\"name{}{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}{}</text>",
                    names_above ? "" : " end", row.owner.colour < 0 ? " soft" : "",
                    names_above ? names + 4 : names - 10, names_above ? end - kRow - 2 : y + 4,
                    tip_of(row.owner.label(kLongestText)),
                    escape(row.owner.label(chart.longest_name)));
    for (size_t panel = 0; panel < frames.size(); ++panel) {
      drawing.elements += entry_marks(row.entries[panel], chart.panels[panel], frames[panel], y);
    }
    drawing.elements += kEndGroup;
  }
  drawing.height = top + height * static_cast<double>(chart.rows.size()) + kBelowRows;
  return drawing;
}

}  // namespace strata::drawing
