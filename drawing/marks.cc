#include "drawing/marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drawing/text.h"

namespace strata::drawing {
namespace {

struct PlacedKey {
  const Key* key;
  double x;
  int line;
};

// Begins a new line where a key does not fit.
std::vector<PlacedKey> place_keys(const std::vector<Key>& keys, double left, double right) {
  std::vector<PlacedKey> placed;
  double x = left;
  int line = 0;
  for (const Key& key : keys) {
    const double width = 24 + width_of(key.text);
    if (x > left && x + width > right) {
      x = left;
      ++line;
    }
    placed.push_back({&key, x, line});
    x += width + 20;
  }
  return placed;
}

double share(const Axis& axis, double value) {
  const double place = axis.place(value);
  return std::isnan(place) ? -0.02 : std::clamp(place, -0.02, 1.02);
}

}  // namespace

double width_of(std::string_view text) {
  return kCharacter * static_cast<double>(characters_in(text));
}

std::string colour_class(int colour) {
  return colour < 0 ? "grey" : fmt::format("c{}", colour % kColours);
}

std::string begin_group(const Owner& owner) {
  return fmt::format("<g class=\"{}\"{}>", colour_class(owner.colour),
                     owner.system < 0 ? "" : fmt::format(" data-system=\"{}\"", owner.system));
}

std::string tip_of(const std::string& text) {
  return text.empty() ? "" : "<title>" + escape(text) + "</title>";
}

std::string text_at(double x, double y, const std::string& text, const std::string& classes,
                    const std::string& more) {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>", classes, x, y,
                     more, escape(text));
}

std::string path_of(const std::vector<std::pair<double, double>>& points) {
  std::string path;
  bool is_drawn = false;
  for (const auto& [x, y] : points) {
    if (std::isnan(y)) {
      is_drawn = false;
      continue;
    }
    path += fmt::format("{}{:.1f} {:.1f}", is_drawn ? 'L' : 'M', x, y);
    is_drawn = true;
  }
  return path;
}

std::string mark_at(Shape shape, double x, double y, const std::string& tip) {
  const auto circle = [&](const char* kind, double radius) {
    return fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\">{}</circle>",
                       kind, x, y, radius, tip_of(tip));
  };
  // `steps` are relative to the mark's middle.
  const auto path = [&](const char* kind, const char* steps) {
    return fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}{}\">{}</path>", kind, x, y, steps,
                       tip_of(tip));
  };
  switch (shape) {
    case Shape::kDot:
      return circle("dot", 3.5);
    case Shape::kSmallDot:
      return circle("small", 2);
    case Shape::kHollow:
      return circle("hollow", 3.5);
    case Shape::kCross:
      return path("cross", "m-3.5 -3.5l7 7m0 -7l-7 7");
    case Shape::kTriangle:
      return path("dot", "m0 -4.5l4.5 8h-9z");
    case Shape::kSquare:
      return path("dot", "m-3.5 -3.5h7v7h-7z");
    case Shape::kDiamond:
      return path("dot", "m0 -5l5 5l-5 5l-5 -5z");
    case Shape::kUpright:
      return path("mark", "m0 -8v16");
    case Shape::kInterval:
      return path("interval", "m-9 -4v8m0 -4h18m0 -4v8");
    case Shape::kLine:
      return path("line bold", "m-9 0h18");
    case Shape::kDashed:
      return path("line bold dashed", "m-9 0h18");
    case Shape::kColumn:
      return path("column", "m-6 -6h12v12h-12z");
    case Shape::kHatched:
      return path("column", "m-6 -6h12v12h-12z") +
             path("hatch", "m-6 6l12 -12m-6 12l6 -6m-12 0l6 -6");
    case Shape::kPart:
    case Shape::kNone:
      break;
  }
  return "";
}

std::string legend(const std::vector<Key>& keys, double left, double top, double right) {
  std::string elements;
  for (const PlacedKey& placed : place_keys(keys, left, right)) {
    const auto& [key, x, line] = placed;
    const double y = top + kLegendHeight * line;
    elements += (key->shape == Shape::kPart
                     ? fmt::format("<rect class=\"part p{}\" x=\"{:.1f}\" y=\"{:.1f}\" "
                                   "width=\"12\" height=\"12\"/>",
                                   key->colour, x + 3, y + 6)
                     : fmt::format("<g class=\"{}\">{}</g>", colour_class(key->colour),
                                   mark_at(key->shape, x + 9, y + 12))) +
                text_at(x + 24, y + 16, key->text, "tick") + '\n';
  }
  return elements;
}

double legend_height(const std::vector<Key>& keys, double left, double right) {
  return keys.empty() ? 0 : kLegendHeight * (place_keys(keys, left, right).back().line + 1);
}

double Frame::x(const Axis& axis, double value) const {
  return left + share(axis, value) * (right - left);
}

double Frame::y(const Axis& axis, double value) const {
  return bottom - share(axis, value) * (bottom - top);
}

std::string Frame::x_labels(const Axis& axis, double at) const {
  constexpr double kGap = 8;
  std::string elements;
  double end = -kPageWidth;
  for (const double tick : axis.ticks) {
    const std::string text = axis.label(tick);
    const double begin = x(axis, tick) - width_of(text) / 2;
    if (begin < end + kGap) continue;
    end = begin + width_of(text);
    elements += text_at(x(axis, tick), at, text, "tick middle");
  }
  return elements;
}

std::string Frame::x_axis(const Axis& axis, const std::string& title) const {
  std::string elements;
  for (const double tick : axis.ticks) {
    elements += fmt::format("<path class=\"grid\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/>", x(axis, tick),
                            top, bottom);
  }
  return elements + x_labels(axis, bottom + 16) +
         text_at((left + right) / 2, bottom + 36, title, "title middle") + '\n';
}

std::string Frame::y_axis(const Axis& axis, const std::string& title) const {
  std::string elements;
  for (const double tick : axis.ticks) {
    elements += fmt::format("<path class=\"grid\" d=\"M{0:.1f} {2:.1f}H{1:.1f}\"/>", left, right,
                            y(axis, tick));
    elements += text_at(left - 6, y(axis, tick) + 4, axis.label(tick), "tick end");
  }
  const double middle = (top + bottom) / 2;
  return elements +
         text_at(18, middle, title, "title middle",
                 fmt::format(" transform=\"rotate(-90 18 {:.1f})\"", middle)) +
         '\n';
}

}  // namespace strata::drawing
