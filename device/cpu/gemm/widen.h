// Conversion of matrices between 16-bit numbers and f32.
#pragma once

#include <cstdint>

#include "device/operations/dtype.h"

namespace strata::device::cpu {

// to[rows, columns] = from, whose rows are `stride` elements apart. T: Float16, or uint16_t for
// bfloat16.
template <typename T>
void widen(const T* from, int64_t rows, int64_t columns, int64_t stride, float* to);

// The opposite; rounds to nearest. Rows of `to` are `stride` elements apart.
template <typename T>
void narrow(const float* from, int64_t rows, int64_t columns, T* to, int64_t stride);

}  // namespace strata::device::cpu
