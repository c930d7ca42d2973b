// Operands of products in 8 bits.
#pragma once

#include <vector>

#include "device/float8.h"
#include "device/reference/arguments.h"

namespace strata::device::reference {

// A matrix as a product takes it, in 8 bits or as it is. `scaling.largest` is raised.
template <typename Format>
class Operand {
 public:
  Operand(const ConstMatrix& matrix, const Float8Scaling& scaling) : matrix_(matrix) {
    const int64_t size = matrix.rows * matrix.cols;
    for (int64_t i = 0; scaling.largest && i < size; ++i) {
      const auto magnitude = static_cast<float>(matrix[i] < 0 ? -matrix[i] : matrix[i]);
      if (magnitude > *scaling.largest) *scaling.largest = magnitude;
    }
    if (!scaling.scale) return;
    rounded_.reserve(static_cast<size_t>(size));
    for (int64_t i = 0; i < size; ++i) {
      rounded_.push_back(in_float8<Format>(static_cast<float>(matrix[i]), scaling.scale[0]));
    }
    matrix_.data = rounded_.data();
  }
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  double operator()(int64_t i, int64_t j) const { return matrix_(i, j); }

 private:
  ConstMatrix matrix_;
  std::vector<double> rounded_;
};

}  // namespace strata::device::reference
