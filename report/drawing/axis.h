// Where a value stands on an axis, and which values its ticks name.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace strata::report {

// A value's place in [0, 1], its ticks, and how they are written.
struct Axis {
  std::function<double(double)> place;
  std::vector<double> ticks;
  std::function<std::string(double)> label;
};

// What is not finite, or beyond this, is drawn at an axis's end or not at all.
inline constexpr double kMostShown = 1e100;

// A linear axis that holds all `values`, which may be none, with ticks at 1, 2 or 5 times powers of
// ten; from zero where `from_zero`, or where the least value is near it.
Axis linear_axis(const std::vector<double>& values, bool from_zero);

// A logarithmic axis where all values are above zero and their largest is more than 20 times the
// smallest; else linear from zero. Ticks at 1, 2 and 5 times powers of ten, or at powers alone.
Axis time_axis(const std::vector<double>& values);
bool is_far_apart(const std::vector<double>& values);

}  // namespace strata::report
