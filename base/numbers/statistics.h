// Statistics of values; the median is in timing.h.
#pragma once

#include <numeric>
#include <vector>

namespace strata {

// Requires at least one value.
inline double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace strata
