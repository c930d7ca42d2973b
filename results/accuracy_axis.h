// Where accuracies stand on the axis of a picture.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "results/curves.h"

namespace strata::results {

// Maps accuracies to [0, 1] of a picture's height, in two straight pieces where the part in which
// runs are decided would else be a sliver: a run spends most of its time near the target.
class AccuracyAxis {
 public:
  // From the least to the most of all evaluations and `target`. It breaks at a round number a
  // little before the median, over runs, of the accuracy at the first evaluation in the second half
  // of a run; the part from there to the target's end has 60 % of the height. Runs count that have
  // an evaluation before that one and one after. It does not break without a target or such runs,
  // or where that would stretch less than 2 times. Accuracies that fall, as error rates do, are
  // stretched at the lower end.
  static AccuracyAxis of(std::span<const Curve* const> curves, std::optional<double> target);

  // 0 for least(), 1 for most(); 0.5 where they are one.
  double place(double accuracy) const;
  double least() const { return least_; }
  double most() const { return most_; }
  std::optional<double> break_at() const { return break_at_; }
  // How many times as high a difference is drawn in the part near the target as in the other; 1
  // without a break.
  double stretch() const;
  // Whether the stretched part is the one above the break.
  bool stretches_above() const { return stretches_above_; }
  // Round numbers in both parts, rising, the break among them, at least `apart` of the height
  // between them. None where all accuracies are one.
  std::vector<double> ticks(double apart = 0.05) const;

 private:
  AccuracyAxis(double least, double most) : least_(least), most_(most) {}

  // Of the height, where the axis breaks.
  double break_place() const { return stretches_above_ ? 0.4 : 0.6; }

  double least_, most_;
  std::optional<double> break_at_;
  bool stretches_above_ = true;
};

}  // namespace strata::results
