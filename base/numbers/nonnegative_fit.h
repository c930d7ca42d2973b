// Least squares with nonnegative coefficients, for a few terms.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace strata {

// One equation for the coefficients x: the sum of `parts` times x is `value`. If parts are divided
// by the observed value, and `value` is 1, the fit minimises relative errors.
struct Observation {
  std::vector<double> parts;
  double value = 1;
};

// Returns the coefficients with the least sum of squares. Ties go to fewer, then earlier nonzero
// terms. All observations have the same number of parts, at most 16. Returns nullopt if there are
// no observations, or all their parts are zero.
std::optional<std::vector<double>> fit_nonnegative(std::span<const Observation> observations);

// True if the observations determine all coefficients.
bool tell_terms_apart(std::span<const Observation> observations);

}  // namespace strata
