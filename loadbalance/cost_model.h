// Cost of a sample on a rank.
#pragma once

#include <cstdint>

namespace strata::loadbalance {

// linear * s + quadratic * s^2 for a sample of s tokens: GEMMs and attention. Only the ratio
// matters. The default is that of BERT-large's arithmetic.
struct CostModel {
  double linear = 1.0;
  double quadratic = 1.0 / 6144;

  double cost(int64_t length) const {
    const double s = static_cast<double>(length);
    return linear * s + quadratic * s * s;
  }
};

}  // namespace strata::loadbalance
