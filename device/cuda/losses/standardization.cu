// The standardization loss: means and variances of units or tokens. The order of every sum depends
// only on the shapes.
#include <algorithm>

#include "device/cuda/layernorm.h"
#include "device/cuda/runtime/operations.h"

namespace strata::device::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarpSize;
constexpr int64_t kBlockRows = 64;

// Means [row blocks, H] and sums of squared deviations from them.
struct BlockMoments {
  float* means;
  float* squares;
};

// Replaces a warp's sums of 32 V columns by the block's, adding the warps' in order.
template <int V>
__device__ inline void add_warps(float (&sums)[V]) {
  __shared__ float of_warps[kWarps][kWarpSize * V];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < V; ++i) of_warps[warp()][lane() * V + i] = sums[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < V; ++i) {
    sums[i] = 0.0f;
    for (int w = 0; w < kWarps; ++w) sums[i] += of_warps[w][lane() * V + i];
  }
}

// A block takes kBlockRows rows of 32 V neighbouring columns: a lane takes V of them, a warp every
// eighth row. The second pass finds them in the cache.
template <int V, typename T>
__global__ void __launch_bounds__(kThreads)
    block_moments_kernel(StandardizationLoss op, int64_t column_blocks, BlockMoments moments) {
  const int64_t columns = op.x.cols, rows = op.rows.now();
  const int64_t block = blockIdx.x / column_blocks;
  const int64_t column = blockIdx.x % column_blocks * kWarpSize * V + lane() * V;
  const int64_t begin = block * kBlockRows;
  const int64_t end = begin + kBlockRows < rows ? begin + kBlockRows : rows;
  if (begin >= end) return;
  const T* x = op.x.as<T>() + column;
  float means[V] = {}, squares[V] = {};
  for (int64_t row = begin + warp(); row < end && column < columns; row += kWarps) {
    float values[V];
    load(x + row * columns, values);
#pragma unroll
    for (int i = 0; i < V; ++i) means[i] += values[i];
  }
  add_warps(means);
#pragma unroll
  for (int i = 0; i < V; ++i) means[i] /= static_cast<float>(end - begin);
  for (int64_t row = begin + warp(); row < end && column < columns; row += kWarps) {
    float values[V];
    load(x + row * columns, values);
#pragma unroll
    for (int i = 0; i < V; ++i) squares[i] += (values[i] - means[i]) * (values[i] - means[i]);
  }
  add_warps(squares);
  if (warp() != 0 || column >= columns) return;
  store(moments.means + block * columns + column, means);
  store(moments.squares + block * columns + column, squares);
}

__device__ inline void write_statistics(const StandardizationLoss& op, int64_t i, double mean,
                                        double variance, double* losses) {
  op.mean.as<float>()[i] = static_cast<float>(mean);
  op.slope.as<float>()[i] =
      static_cast<float>(standardization_slope(op.gradient_scale.now(), variance));
  losses[i] = device::standardization_loss(mean, variance);
}

__device__ inline void write_no_statistics(const StandardizationLoss& op, int64_t i,
                                           double* losses) {
  op.mean.as<float>()[i] = op.slope.as<float>()[i] = 0.0f;
  losses[i] = 0.0;
}

// Returns the sum of the warps' values for this lane's column, in order.
__device__ inline double sum_of_warps(double x) {
  __shared__ double of_warps[kWarps][kWarpSize];
  __syncthreads();
  of_warps[warp()][lane()] = x;
  __syncthreads();
  double sum = 0.0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) sum += of_warps[w][lane()];
  return sum;
}

// A block combines the moments of 32 columns, a warp those of every eighth block of rows.
__global__ void __launch_bounds__(kThreads)
    unit_statistics_kernel(StandardizationLoss op, BlockMoments moments, double* losses) {
  const int64_t columns = op.x.cols, rows = op.rows.now();
  const int64_t column = int64_t{blockIdx.x} * kWarpSize + lane();
  const int64_t blocks = column < columns ? (rows + kBlockRows - 1) / kBlockRows : 0;
  const auto rows_of = [&](int64_t block) {
    const int64_t left = rows - block * kBlockRows;
    return static_cast<double>(left < kBlockRows ? left : kBlockRows);
  };
  double sum = 0.0, squares = 0.0;
  for (int64_t block = warp(); block < blocks; block += kWarps) {
    sum += rows_of(block) * moments.means[block * columns + column];
  }
  const double mean = sum_of_warps(sum) / static_cast<double>(rows);
  for (int64_t block = warp(); block < blocks; block += kWarps) {
    const double apart = moments.means[block * columns + column] - mean;
    squares += moments.squares[block * columns + column] + rows_of(block) * apart * apart;
  }
  squares = sum_of_warps(squares);
  if (warp() != 0 || column >= columns) return;
  if (rows == 0) return write_no_statistics(op, column, losses);
  write_statistics(op, column, mean, squares / static_cast<double>(rows), losses);
}

// One warp per row.
template <typename T, typename Shape>
__global__ void __launch_bounds__(kRowThreads)
    token_statistics_kernel(StandardizationLoss op, double* losses) {
  const int columns = static_cast<int>(op.x.cols);
  const int row = static_cast<int>(blockIdx.x) * kRowsPerBlock + warp();
  if (row >= op.x.rows) return;
  if (row >= op.rows.now()) {
    if (lane() == 0) write_no_statistics(op, row, losses);
    return;
  }
  RowPart<Shape> z;
  load_row<Shape>(op.x.as<T>() + int64_t{row} * columns, columns, z);
  const float mean = row_sum<Shape>(z) / static_cast<float>(columns);
  float squares = 0.0f;
  for_each_pack<Shape>(columns, [&](int step, int) {
#pragma unroll
    for (int i = 0; i < Shape::V; ++i) squares += (z[step][i] - mean) * (z[step][i] - mean);
  });
  squares = warp_sum(squares);
  if (lane() == 0) {
    write_statistics(op, row, mean, squares / static_cast<float>(columns), losses);
  }
}

// One block. A row's loss is the mean over `groups` units, or that of the row.
__global__ void __launch_bounds__(kThreads)
    add_losses_kernel(StandardizationLoss op, const double* losses, int64_t groups) {
  double loss = 0.0;
  for (int64_t i = threadIdx.x; i < groups; i += kThreads) loss += losses[i];
  loss = block_sum<kThreads>(loss);
  if (threadIdx.x != 0) return;
  const int64_t rows = op.rows.now();
  const bool of_units = op.axis == StandardizationAxis::kUnit;
  op.totals->loss +=
      of_units ? loss * static_cast<double>(rows) / static_cast<double>(groups) : loss;
  op.totals->count += rows;
}

template <typename T>
void unit_statistics(const Context& context, const StandardizationLoss& op, double* losses) {
  constexpr int V = kVector<T>;
  const int64_t columns = op.x.cols, row_blocks = ceil_div(op.x.rows, kBlockRows);
  const int64_t most = std::max<int64_t>(row_blocks, 1) * columns;
  const BlockMoments moments{context.scratch[0].get<float>(most),
                             context.scratch[1].get<float>(most)};
  const bool aligned = rows_are_aligned(columns, V, op.x.data);
  const int64_t column_blocks = ceil_div(columns, kWarpSize * (aligned ? V : 1));
  launch(context.stream, row_blocks * column_blocks, kThreads,
         aligned ? block_moments_kernel<V, T> : block_moments_kernel<1, T>, op, column_blocks,
         moments);
  launch(context.stream, ceil_div(columns, kWarpSize), kThreads, unit_statistics_kernel, op,
         moments, losses);
}

}  // namespace

template <typename T>
void Operations<T>::standardization_loss(const Context& context, const StandardizationLoss& op) {
  const int64_t groups = op.axis == StandardizationAxis::kUnit ? op.x.cols : op.x.rows;
  auto* losses = context.scratch[2].get<double>(std::max<int64_t>(groups, 1));
  if (op.axis == StandardizationAxis::kUnit) {
    unit_statistics<T>(context, op, losses);
  } else {
    const bool aligned = rows_are_aligned(op.x.cols, kVector<T>, op.x.data);
    with_row_shape<T>(op.x.cols, aligned, [&](auto shape) {
      launch(context.stream, ceil_div(op.x.rows, kRowsPerBlock), kRowThreads,
             token_statistics_kernel<T, decltype(shape)>, op, losses);
    });
  }
  launch(context.stream, 1, kThreads, add_losses_kernel, op, losses, groups);
}

STRATA_INSTANTIATE(standardization_loss, StandardizationLoss);

}  // namespace strata::device::cuda
