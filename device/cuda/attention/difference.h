// Compares the results of two kernels.
#pragma once

#include "device/cuda/runtime/runtime.h"
#include "device/operations/tensor.h"

namespace strata::device::cuda {

struct Difference {
  float largest = 0.0f;        // max |a - b|; NaN if any difference is
  float largest_value = 0.0f;  // max |a|; NaN if any is
};

// Compares columns [first_column, first_column + columns) of a and b in device memory. Both have
// the same shape and dtype, f32 or bf16. Uses scratch slot 0. Waits for the stream.
Difference difference_of(const Context& context, const ConstTensor& a, const ConstTensor& b,
                         int64_t first_column, int64_t columns);

}  // namespace strata::device::cuda
