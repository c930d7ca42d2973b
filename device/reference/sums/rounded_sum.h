// Sums with a low-precision accumulator, in one chunk or in several: Sakr et al., arXiv 1901.06588.
#pragma once

#include <cstdint>
#include <span>

#include "device/operations/tensor.h"

namespace strata::device::reference {

// A binary floating-point format in the style of IEEE 754: a sign, subnormals, infinities.
struct FloatFormat {
  int exponent_bits = 8;  // 2 to 10
  int mantissa_bits = 7;  // stored bits, 1 to 24
};

// Returns the nearest number of the format, ties to even; infinity beyond the largest.
double rounded(double value, const FloatFormat& format);

// Order and precision of a sum.
struct RoundedSum {
  FloatFormat format;
  // Terms are summed in chunks of this size, then the chunks' sums in chunks of this size, until
  // one sum is left. At least 2, or 0 for a single chunk.
  int64_t chunk = 0;
};

// Rounds after every addition, the first of which is to 0. Terms are exact.
double rounded_sum(std::span<const double> terms, const RoundedSum& sum);

// y = x weight^T with exact products, summed over k according to `sum`.
struct RoundedMatmul {
  ConstTensor x;       // [T, k] f32 or bf16
  ConstTensor weight;  // [out, k] f32 or bf16
  RoundedSum sum;
  Tensor y;  // [T, out] any dtype that holds the format
};

// Throws Error if shapes do not fit.
void rounded_matmul(const RoundedMatmul& matmul);

}  // namespace strata::device::reference
