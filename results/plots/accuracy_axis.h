// Where accuracies stand on the axis of a picture.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "drawing/axis.h"
#include "results/curves.h"

namespace strata::results {

// Maps accuracies to [0, 1] of a picture's height, in straight pieces where the range in which runs
// are decided would else be a sliver: a run spends most of its time near the target.
class AccuracyAxis {
 public:
  // From the least to the most of all evaluations and `target`. It breaks at a round number a
  // little before the median, over runs, of the accuracy at the first evaluation in the second half
  // of a run; what lies from there on has 60 % of the height. Runs count that have an evaluation
  // before that one and one after. Where few runs go far beyond the target, as those with a target
  // of their own, the stretched range ends a little beyond the target and theirs has 12 %. The axis
  // does not break without a target or such runs, or where that would stretch less than 2 times.
  // Accuracies that fall, as error rates do, are stretched at the lower end.
  static AccuracyAxis of(std::span<const Curve* const> curves, std::optional<double> target);

  drawing::Axis axis() const;

  // 0 for least(), 1 for most(); 0.5 where they are one.
  double place(double accuracy) const;
  double least() const { return knots_.front().accuracy; }
  double most() const { return knots_.back().accuracy; }
  // Where the stretched range begins, seen from a run's beginning.
  std::optional<double> break_at() const { return break_at_; }
  // The stretched range; all without a break.
  double stretched_from() const { return stretched_from_; }
  double stretched_to() const { return stretched_to_; }
  // How many times as high a difference is drawn in it as before it; 1 without a break.
  double stretch() const { return stretch_; }
  // Round numbers, rising, at least `apart` of the height between them, among them where the
  // stretched range begins and ends. None where all accuracies are one.
  std::vector<double> ticks(double apart = 0.05) const;

 private:
  struct Knot {
    double accuracy, place;
  };

  AccuracyAxis(double least, double most)
      : knots_({{least, 0}, {most, 1}}), stretched_from_(least), stretched_to_(most) {}
  void break_for(double target, double late, double median_best, bool falls);

  std::vector<Knot> knots_;  // rising
  std::optional<double> break_at_;
  double stretched_from_, stretched_to_;
  double stretch_ = 1;
};

}  // namespace strata::results
