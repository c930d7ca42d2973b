// Maps values to positions on an axis, and chooses its ticks.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace strata::drawing {

// A value's position in [0, 1], the ticks, and their text.
struct Axis {
  std::function<double(double)> place;
  std::vector<double> ticks;
  std::function<std::string(double)> label;
};

// Values that are not finite, or beyond this, are drawn at an axis's end or not at all.
inline constexpr double kMostShown = 1e100;

// Returns the smallest of 1, 2 and 5 times a power of ten that is at least `value`. Requires value
// > 0.
double round_step(double value);

// Returns the multiples of a round step of at least `least_step` from `from` to `to`, or none if
// the numbers are too close for that.
std::vector<double> round_numbers(double from, double to, double least_step);

// Returns a linear axis that holds all `values`, which may be empty, with round ticks at least
// `apart` of the axis from each other. It begins at zero if `from_zero` is set or the smallest
// value is near it.
Axis linear_axis(const std::vector<double>& values, bool from_zero, double apart = 1.0 / 6);

// Returns a logarithmic axis if is_far_apart(values), else a linear one from zero. Logarithmic
// ticks are 1, 2 and 5 times powers of ten, or only powers if `apart` leaves no room for more.
Axis time_axis(const std::vector<double>& values, double apart = 0.05);

// Returns whether all values are above zero and the largest is more than 20 times the smallest.
bool is_far_apart(const std::vector<double>& values);

}  // namespace strata::drawing
