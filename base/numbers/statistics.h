// Statistics of values; the median is in timing.h.
#pragma once

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

}  // namespace strata
