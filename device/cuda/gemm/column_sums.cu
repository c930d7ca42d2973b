#include <algorithm>
#include <iterator>

#include "device/cuda/gemm/block_column_sums.h"
#include "device/cuda/gemm/column_sums.h"
#include "device/cuda/runtime/kernel.h"

namespace strata::device::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarpSize;
// Fills any GPU several times. The same on all GPUs, because it determines the order of sums.
constexpr int64_t kBlocks = 1024, kFewestRows = 32;

// A block sums rows_per_block rows of 32 V neighbouring columns: a lane takes V of them, a warp
// every eighth row, and the warps' sums are added in order.
template <int V, typename T>
__global__ void __launch_bounds__(kThreads)
    part_sums_kernel(const T* x, int64_t rows, int64_t columns, int64_t stride,
                     int64_t column_blocks, int64_t rows_per_block, float* parts) {
  __shared__ float of_warps[kWarps][kWarpSize * V];
  const int64_t row_block = blockIdx.x / column_blocks;
  const int64_t first_column = blockIdx.x % column_blocks * kWarpSize * V;
  const int64_t column = first_column + lane() * V;
  const int64_t begin = row_block * rows_per_block;
  const int64_t end = begin + rows_per_block < rows ? begin + rows_per_block : rows;
  float sums[V] = {};
  if (column < columns) {
#pragma unroll 4
    for (int64_t row = begin + warp(); row < end; row += kWarps) {
      float values[V];
      load(x + row * stride + column, values);
#pragma unroll
      for (int i = 0; i < V; ++i) sums[i] += values[i];
    }
  }
  write_block_sums(of_warps, sums, columns - first_column,
                   parts + row_block * columns + first_column);
}

struct SumsOutputs {
  static constexpr int kMost = 3;
  SumsOutput of[kMost];
};

// A block sums the rows of 32 columns in the same manner; y is the index of the output.
__global__ void __launch_bounds__(kThreads)
    sum_parts_kernel(const float* parts, int64_t rows, int64_t columns, int64_t stride,
                     const __grid_constant__ SumsOutputs outputs) {
  __shared__ float of_warps[kWarps][kWarpSize];
  const int64_t column_block = blockIdx.x;
  const SumsOutput& output = outputs.of[blockIdx.y];
  parts += blockIdx.y * columns;
  const int64_t column = column_block * kWarpSize + lane();
  float sum = 0.0f;
  if (column < columns) {
#pragma unroll 8
    for (int64_t row = warp(); row < rows; row += kWarps) sum += parts[row * stride + column];
  }
  of_warps[warp()][lane()] = sum;
  __syncthreads();
  if (warp() != 0 || column >= columns) return;
  float total = 0.0f;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) total += of_warps[w][lane()];
  float& sum_of_column = output.sums[column];
  sum_of_column = output.accumulate ? sum_of_column + total : total;
}

}  // namespace

SumsGrid::SumsGrid(int64_t rows, int64_t columns, int64_t columns_per_block)
    : column_blocks(ceil_div(columns, columns_per_block)),
      rows_per_block(
          std::max(kFewestRows, ceil_div(rows, std::max<int64_t>(kBlocks / column_blocks, 1)))),
      row_blocks(ceil_div(rows, rows_per_block)) {}

template <typename T>
void sum_columns(const Context& context, const T* x, int64_t rows, int64_t columns, int64_t stride,
                 const SumsOutput& output, int slot) {
  constexpr int V = kVector<T>;
  const bool aligned = rows_are_aligned(columns, V, x) && stride % V == 0;
  const SumsGrid grid(rows, columns, kWarpSize * (aligned ? V : 1));
  float* parts = context.scratch[slot].get<float>(grid.row_blocks * columns);
  launch(context.stream, grid.blocks(), kThreads,
         aligned ? part_sums_kernel<V, T> : part_sums_kernel<1, T>, x, rows, columns, stride,
         grid.column_blocks, grid.rows_per_block, parts);
  sum_parts(context, parts, grid.row_blocks, columns, {output});
}

void sum_parts(const Context& context, const float* parts, int64_t rows, int64_t columns,
               std::initializer_list<SumsOutput> outputs) {
  SumsOutputs all;
  require(outputs.size() <= std::size(all.of), "a kernel writes at most three rows of sums");
  std::copy(outputs.begin(), outputs.end(), all.of);
  const dim3 blocks(static_cast<unsigned>(ceil_div(columns, kWarpSize)),
                    static_cast<unsigned>(outputs.size()));
  launch(context.stream, blocks, kThreads, sum_parts_kernel, parts, rows, columns,
         static_cast<int64_t>(outputs.size()) * columns, all);
}

template void sum_columns(const Context&, const float*, int64_t, int64_t, int64_t,
                          const SumsOutput&, int);
template void sum_columns(const Context&, const BFloat16*, int64_t, int64_t, int64_t,
                          const SumsOutput&, int);
template void sum_columns(const Context&, const Float16*, int64_t, int64_t, int64_t,
                          const SumsOutput&, int);

}  // namespace strata::device::cuda
