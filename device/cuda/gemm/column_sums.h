// Sums over the rows of a matrix.
#pragma once

#include <cstdint>

#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

// Where column sums go: [columns], overwritten or added to.
struct SumsOutput {
  float* sums = nullptr;
  bool accumulate = false;
};

// The column sums of x [rows, columns], whose rows are `stride` elements apart. T: float or
// BFloat16 or Float16. Uses scratch slot `slot`.
template <typename T>
void sum_columns(const Context& context, const T* x, int64_t rows, int64_t columns, int64_t stride,
                 const SumsOutput& output, int slot);

// The same for the few rows of `parts` [rows, columns] that a kernel has left in scratch; and,
// where `next_sums` is given, of the `columns` after those into that.
void sum_parts(const Context& context, const float* parts, int64_t rows, int64_t columns,
               int64_t stride, const SumsOutput& output, float* next_sums = nullptr);

}  // namespace strata::device::cuda
