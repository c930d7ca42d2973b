// Middles of measured values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace strata::plan {

// Of at least one value.
inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

inline double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace strata::plan
