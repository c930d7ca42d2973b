// Normalizer of a softmax.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace strata::device::plain {

// Returns log(sum(exp(scores))) without overflow for large scores. Requires n >= 1.
template <typename T>
double log_sum_exp(const T* scores, int64_t n) {
  const T highest = *std::max_element(scores, scores + n);
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(scores[i] - highest);
  return highest + std::log(sum);
}

}  // namespace strata::device::plain
