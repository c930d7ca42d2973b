#include "device/cuda/column_sums.h"
#include "device/cuda/kernel.h"

namespace strata::device::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRowsPerBlock = 64;

// A block sums kRowsPerBlock rows of kThreads neighbouring columns, a column a thread.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    part_sums_kernel(const T* x, int64_t rows, int64_t columns, int64_t stride,
                     int64_t column_blocks, float* parts) {
  const int64_t row_block = blockIdx.x / column_blocks;
  const int64_t column = blockIdx.x % column_blocks * kThreads + threadIdx.x;
  if (column >= columns) return;
  const int64_t begin = row_block * kRowsPerBlock;
  const int64_t end = begin + kRowsPerBlock < rows ? begin + kRowsPerBlock : rows;
  float sum = 0.0f;
#pragma unroll 8
  for (int64_t row = begin; row < end; ++row) sum += static_cast<float>(x[row * stride + column]);
  parts[row_block * columns + column] = sum;
}

__global__ void __launch_bounds__(kThreads)
    add_parts_kernel(const float* parts, int64_t rows, int64_t columns, int64_t stride,
                     float* sums) {
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (column >= columns) return;
  float sum = 0.0f;
#pragma unroll 8
  for (int64_t row = 0; row < rows; ++row) sum += parts[row * stride + column];
  sums[column] += sum;
}

}  // namespace

template <typename T>
void add_column_sums(const Context& context, const T* x, int64_t rows, int64_t columns,
                     int64_t stride, float* sums, int slot) {
  const int64_t row_blocks = ceil_div(rows, kRowsPerBlock);
  const int64_t column_blocks = ceil_div(columns, kThreads);
  float* parts = context.scratch[slot].get<float>(row_blocks * columns);
  launch(context.stream, row_blocks * column_blocks, kThreads, part_sums_kernel<T>, x, rows,
         columns, stride, column_blocks, parts);
  add_partial_sums(context, parts, row_blocks, columns, columns, sums);
}

void add_partial_sums(const Context& context, const float* parts, int64_t rows, int64_t columns,
                      int64_t stride, float* sums) {
  launch(context.stream, ceil_div(columns, kThreads), kThreads, add_parts_kernel, parts, rows,
         columns, stride, sums);
}

template void add_column_sums(const Context&, const float*, int64_t, int64_t, int64_t, float*, int);
template void add_column_sums(const Context&, const BFloat16*, int64_t, int64_t, int64_t, float*,
                              int);

}  // namespace strata::device::cuda
