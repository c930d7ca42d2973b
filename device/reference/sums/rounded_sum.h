// Sums whose accumulator has few bits, in one row or in chunks: Sakr et al., arXiv 1901.06588.
#pragma once

#include <cstdint>
#include <span>

#include "device/operations/tensor.h"

namespace strata::device::reference {

// A binary floating-point format as IEEE 754 makes them: a sign, subnormals, infinities.
struct FloatFormat {
  int exponent_bits = 8;  // 2 to 10
  int mantissa_bits = 7;  // stored ones, 1 to 24
};

// The nearest number of the format, of two equally near the even one; infinite beyond the largest.
double rounded(double value, const FloatFormat& format);

// How terms are added up.
struct RoundedSum {
  FloatFormat format;
  // Terms are added in chunks of so many, then the sums of as many chunks, and so on until one is
  // left; 0, or not fewer than there are: in one row. At least 2.
  int64_t chunk = 0;
};

// Rounds after every addition, the first to 0. Terms are exact.
double rounded_sum(std::span<const double> terms, const RoundedSum& sum);

// y = x weight^T, products exact, added up as `sum` says over k.
struct RoundedMatmul {
  ConstTensor x;       // [T, k] f32 or bf16
  ConstTensor weight;  // [out, k] f32 or bf16
  RoundedSum sum;
  Tensor y;  // [T, out] any dtype that holds the format
};

// Throws Error where shapes do not fit.
void rounded_matmul(const RoundedMatmul& matmul);

}  // namespace strata::device::reference
