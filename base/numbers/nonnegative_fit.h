// Least squares with no coefficient below zero, for a handful of terms.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace strata {

// What one observation says of the coefficients x: that the sum of its parts times x is `value`.
// With parts divided by what was observed, and 1 left, the squares are of relative errors.
struct Observation {
  std::vector<double> parts;
  double value = 1;
};

// The coefficients that leave the least sum of squares; of equally good ones those with fewer, then
// earlier terms above zero. Every observation has as many parts as the others, at most 16. Empty
// where no observation is given or none of the terms is in any.
std::optional<std::vector<double>> fit_nonnegative(std::span<const Observation> observations);

// Whether the observations tell all terms apart.
bool tell_terms_apart(std::span<const Observation> observations);

}  // namespace strata
