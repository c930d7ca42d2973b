// Sums over the rows of a matrix.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

// Destination of column sums: [columns], overwritten or added to.
struct SumsOutput {
  float* sums = nullptr;
  bool accumulate = false;
};

// Divides a matrix among the blocks of a kernel that sums its columns. Block b takes rows_per_block
// rows from (b / column_blocks) * rows_per_block, and columns_per_block columns from (b %
// column_blocks) * columns_per_block. It writes its sums to row b / column_blocks of parts
// [row_blocks, columns], which sum_parts adds up.
struct SumsGrid {
  int64_t column_blocks, rows_per_block, row_blocks;

  // Depends only on the shape, so that sums are always added in the same order.
  SumsGrid(int64_t rows, int64_t columns, int64_t columns_per_block);
  int64_t blocks() const { return column_blocks * row_blocks; }
};

// Computes the column sums of x [rows, columns], with rows `stride` elements apart. T: float,
// BFloat16 or Float16. Uses scratch slot `slot`.
template <typename T>
void sum_columns(const Context& context, const T* x, int64_t rows, int64_t columns, int64_t stride,
                 const SumsOutput& output, int slot);

// Sums the rows of `parts`, which a kernel has left in scratch: up to three matrices [rows,
// columns] side by side, one per output.
void sum_parts(const Context& context, const float* parts, int64_t rows, int64_t columns,
               std::initializer_list<SumsOutput> outputs);

}  // namespace strata::device::cuda
