// Layer normalization of one row (Ba, Kiros & Hinton 2016).
#pragma once

#include <cstdint>
#include <vector>

#include "device/reference/arguments.h"

namespace strata::device::reference {

struct NormalizedRow {
  std::vector<double> values;  // zero mean, unit variance
  double inverse_stddev = 0;   // 1 / sqrt(variance + epsilon); the variance divides by n
};

NormalizedRow normalize(const std::vector<double>& row, double epsilon);

// The gradient of the row, given the gradient of its normalized values.
std::vector<double> normalize_backward(const std::vector<double>& d_normalized,
                                       const double* normalized, double inverse_stddev);

// The gradient of the standardization loss with respect to every element of a tensor.
class StandardizationTerm {
 public:
  // Of [tokens, hidden]; zero where `gradient` has no mean.
  StandardizationTerm(const Arguments& arguments, const StandardizationGradient& gradient,
                      int64_t tokens, int64_t hidden);
  // Of element (t, h), whose value is x.
  double at(int64_t t, int64_t h, double x) const;

 private:
  bool of_units_;
  int64_t rows_ = 0;
  double scale_ = 0;
  ConstMatrix mean_, slope_;
};

}  // namespace strata::device::reference
