// Elements of SVG: marks, text, and the axes around them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "drawing/axis.h"
#include "drawing/owner.h"
#include "drawing/picture.h"

namespace strata::drawing {

// Widths in units of a drawing's coordinates. A unit is about a pixel of a page; text is 12 units
// high.
inline constexpr double kPageWidth = 900, kFileWidth = 1100;
// Width of drawings for telephones, which have a layout of their own.
inline constexpr double kNarrowWidth = 336;
inline bool is_narrow(double width) { return width < kPageWidth / 2; }
inline constexpr double kCharacter = 7.2;  // width in a wide font
double width_of(std::string_view text);

enum class Shape : uint8_t {
  kDot,
  kSmallDot,
  kHollow,
  kCross,
  kTriangle,
  kSquare,
  kDiamond,
  kUpright,   // the short line for a score
  kInterval,  // an interval with the ends of an error bar
  kLine,
  kDashed,
  kColumn,
  kPart,     // a piece of a stacked bar
  kHatched,  // a piece of a hatched bar
  kNone,
};

// Returns a class of chart.css: "c2", or "grey".
std::string colour_class(int colour);
// Begins a group of marks with one owner, which a page can pick.
std::string begin_group(const Owner& owner);
inline constexpr char kEndGroup[] = "</g>\n";

std::string tip_of(const std::string& text);
// `classes` are classes of chart.css; `more` attributes begin with a space.
std::string text_at(double x, double y, const std::string& text, const std::string& classes,
                    const std::string& more = "");
// Returns a path through the points, with a gap at those that are not a number.
std::string path_of(const std::vector<std::pair<double, double>>& points);
std::string mark_at(Shape shape, double x, double y, const std::string& tip = "");

// The meaning of a shape and its colour.
struct Key {
  Shape shape = Shape::kDot;
  int colour = -1;  // the system's colour, or the part's for kPart
  std::string text;
};
inline constexpr double kLegendHeight = 24;
// Draws the keys from `left` to `right`, in lines of height kLegendHeight that begin at `top`.
std::string legend(const std::vector<Key>& keys, double left, double top, double right);
// Returns the height of the whole legend.
double legend_height(const std::vector<Key>& keys, double left, double right);

// The rectangle of the values, with y growing downwards.
struct Frame {
  double left, top, right, bottom;

  // Values beyond the axis are drawn just beyond its ends.
  double x(const Axis& axis, double value) const;
  double y(const Axis& axis, double value) const;
  // Returns the ticks' labels at height `at`, without those that would overlap.
  std::string x_labels(const Axis& axis, double at) const;
  std::string x_axis(const Axis& axis, const std::string& title) const;
  std::string y_axis(const Axis& axis, const std::string& title) const;
};

}  // namespace strata::drawing
