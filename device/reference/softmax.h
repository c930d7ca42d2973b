// The normalizer of a softmax.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace strata::device::reference {

// log(sum(exp(scores))), which does not overflow for large scores.
inline double log_sum_exp(const std::vector<double>& scores) {
  const double highest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - highest);
  return highest + std::log(sum);
}

}  // namespace strata::device::reference
