// Statistics of values; the median is in timing.h.
#pragma once

#include <cmath>
#include <numeric>
#include <span>

namespace strata {

inline double sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Requires at least one value.
inline double mean(std::span<const double> values) {
  return sum(values) / static_cast<double>(values.size());
}

// Returns the sample standard deviation, or 0 for a single value. Requires at least one value.
inline double sample_deviation(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

}  // namespace strata
