// Fits a cost model to measured times.
#pragma once

#include <span>

#include "loadbalance/cost_model.h"

namespace strata::loadbalance {

// Measured time of a batch. The sums run over its samples of s tokens each.
struct BatchTime {
  double tokens = 0;   // sum of s
  double squares = 0;  // sum of s^2
  double seconds = 0;  // above 0
};

struct CostFit {
  double fixed = 0;         // seconds per batch, independent of its samples
  CostModel cost = {0, 0};  // seconds per sample

  double seconds(const BatchTime& batch) const {
    return fixed + cost.linear * batch.tokens + cost.quadratic * batch.squares;
  }
};

// Least squares of the relative errors, with nonnegative coefficients. Throws Error if the batches
// are too few or too similar to determine the coefficients, or if time does not grow with the
// samples.
CostFit fit_cost(std::span<const BatchTime> times);

}  // namespace strata::loadbalance
