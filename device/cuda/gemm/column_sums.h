// Sums over the rows of a matrix.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

// Where column sums go: [columns], overwritten or added to.
struct SumsOutput {
  float* sums = nullptr;
  bool accumulate = false;
};

// Divides a matrix among the blocks of a kernel that sums its columns. Block b takes rows_per_block
// rows from (b / column_blocks) * rows_per_block on, and columns_per_block columns from
// (b % column_blocks) * columns_per_block on. It writes its sums to row b / column_blocks of parts
// [row_blocks, columns], which sum_parts adds up.
struct SumsGrid {
  int64_t column_blocks, rows_per_block, row_blocks;

  // Depends on the shape alone, so that sums are always added in the same order.
  SumsGrid(int64_t rows, int64_t columns, int64_t columns_per_block);
  int64_t blocks() const { return column_blocks * row_blocks; }
};

// The column sums of x [rows, columns], whose rows are `stride` elements apart. T: float or
// BFloat16 or Float16. Uses scratch slot `slot`.
template <typename T>
void sum_columns(const Context& context, const T* x, int64_t rows, int64_t columns, int64_t stride,
                 const SumsOutput& output, int slot);

// The same for the few rows of `parts` that a kernel has left in scratch: up to three matrices
// [rows, columns] side by side, one for each output.
void sum_parts(const Context& context, const float* parts, int64_t rows, int64_t columns,
               std::initializer_list<SumsOutput> outputs);

}  // namespace strata::device::cuda
