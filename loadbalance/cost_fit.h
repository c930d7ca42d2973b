// The cost model that explains measured times best.
#pragma once

#include <span>

#include "loadbalance/cost_model.h"

namespace strata::loadbalance {

// How long a batch took. Sums over its samples of s tokens each.
struct BatchTime {
  double tokens = 0;   // sum of s
  double squares = 0;  // sum of s^2
  double seconds = 0;  // above 0
};

struct CostFit {
  double fixed = 0;         // seconds of a batch, whatever it holds
  CostModel cost = {0, 0};  // seconds that a sample adds

  double seconds(const BatchTime& batch) const {
    return fixed + cost.linear * batch.tokens + cost.quadratic * batch.squares;
  }
};

// Least squares of the relative errors with no coefficient below zero. Throws Error where the
// batches are too few or too much alike to tell the coefficients apart, or none takes longer for
// holding more.
CostFit fit_cost(std::span<const BatchTime> times);

}  // namespace strata::loadbalance
