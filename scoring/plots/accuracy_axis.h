// Positions of accuracies on the axis of a picture.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "drawing/axis.h"
#include "scoring/curves.h"

namespace strata::scoring {

// Maps accuracies to [0, 1] of a picture's height. A run spends most of its time near the target,
// so the axis stretches that range if it would be too small to read.
class AccuracyAxis {
 public:
  // Covers all evaluations and `target`. The axis breaks at a round number a little below the
  // median accuracy of the runs' first evaluations in their second half; the part from there on has
  // 60 % of the height. Only runs with an evaluation before and after that one count. If few runs
  // go far beyond the target, because they have another one, the stretched range ends a little
  // beyond the target and theirs has 12 %. The axis does not break without a target or such runs,
  // or if it would stretch less than 2 times. Accuracies that fall, as error rates do, are
  // stretched at the lower end.
  static AccuracyAxis of(std::span<const Curve* const> curves, std::optional<double> target);

  drawing::Axis axis() const;

  // Returns 0 for least(), 1 for most(); 0.5 if these are equal.
  double place(double accuracy) const;
  double least() const { return knots_.front().accuracy; }
  double most() const { return knots_.back().accuracy; }
  // The begin of the stretched range, as a run reaches it.
  std::optional<double> break_at() const { return break_at_; }
  // The ends of the stretched range; everything without a break.
  double stretched_from() const { return stretched_from_; }
  double stretched_to() const { return stretched_to_; }
  // How many times as high a difference is drawn in that range; 1 without a break.
  double stretch() const { return stretch_; }
  // Returns rising round numbers, at least `apart` of the height from each other, with the ends of
  // the stretched range. Empty if all accuracies are equal.
  std::vector<double> ticks(double apart = 0.05) const;

 private:
  struct Knot {
    double accuracy, place;
  };

  AccuracyAxis(double least, double most)
      : knots_({{least, 0}, {most, 1}}), stretched_from_(least), stretched_to_(most) {}
  void break_for(double target, double late, double median_best, bool falls);

  std::vector<Knot> knots_;  // in ascending order
  std::optional<double> break_at_;
  double stretched_from_, stretched_to_;
  double stretch_ = 1;
};

}  // namespace strata::scoring
