// Axes of numbers, and the round numbers at their tics.
#pragma once

#include <string>
#include <vector>

namespace strata::results {

// The least of 1, 2 and 5 times a power of ten that is at least `value`, which is above 0.
double round_step(double value);

// From `from` to `to` in round steps of at least `least_step`; none where numbers are too close for
// that.
std::vector<double> round_numbers(double from, double to, double least_step);

// For people: 0.005, 20, 200 k, 2.5 M.
std::string short_number(double number);

// From one number to another, straight or logarithmic.
class NumberAxis {
 public:
  // Wide enough for all from `least` to `most`, with a little space: logarithmic where the most is
  // more than 20 times the least and that is above 0; from 0 where it is more than twice the least.
  static NumberAxis of(double least, double most);
  static NumberAxis from_zero(double most);

  double from() const { return from_; }
  double to() const { return to_; }
  bool is_logarithmic() const { return logarithmic_; }
  // 0 at from(), 1 at to().
  double place(double number) const;
  // Round numbers, rising, at least `apart` of the axis between them: steps of 1, 2 or 5, or on a
  // logarithmic axis 1, 2 and 5 times powers of ten, else powers alone.
  std::vector<double> ticks(double apart = 0.05) const;

 private:
  NumberAxis(double from, double to, bool logarithmic)
      : from_(from), to_(to), logarithmic_(logarithmic) {}

  double from_, to_;
  bool logarithmic_;
};

}  // namespace strata::results
