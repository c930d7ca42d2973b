// Layer normalization of one row (Ba, Kiros & Hinton 2016).
#pragma once

#include <cstdint>
#include <vector>

namespace strata::device::reference {

struct NormalizedRow {
  std::vector<double> values;  // zero mean, unit variance
  double inverse_stddev = 0;   // 1 / sqrt(variance + epsilon); the variance divides by n
};

NormalizedRow normalize(const std::vector<double>& row, double epsilon);

// The gradient of the row, given the gradient of its normalized values.
std::vector<double> normalize_backward(const std::vector<double>& d_normalized,
                                       const double* normalized, double inverse_stddev);

}  // namespace strata::device::reference
