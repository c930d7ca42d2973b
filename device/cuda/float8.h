// Operands of products in 8 bits. T: float or BFloat16; rows and columns are multiples of 16.
#pragma once

#include "device/backend.h"
#include "device/cuda/runtime.h"
#include "device/float8.h"

namespace strata::device::cuda {

// x [count] in codes of the format. `scaling.largest` is raised.
template <typename Format, typename T>
void round_to_float8(const Context& context, const T* x, int64_t count,
                     const Float8Scaling& scaling, uint8_t* codes);

// The transpose of x [rows, columns], [columns, rows].
template <typename Format, typename T>
void round_to_float8_transposed(const Context& context, const T* x, int64_t rows, int64_t columns,
                                const float* scale, uint8_t* codes);

// Raises `largest` to max |x|, x [count].
template <typename T>
void raise_to_largest(const Context& context, const T* x, int64_t count, float* largest);

}  // namespace strata::device::cuda
