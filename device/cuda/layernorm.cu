#include "device/cuda/layernorm.h"
#include "device/cuda/runtime/operations.h"

namespace strata::device::cuda {
namespace {

template <typename T, typename Shape>
__global__ void __launch_bounds__(kRowThreads) forward_kernel(ResidualLayerNormForward op) {
  const int columns = static_cast<int>(op.x.cols);
  const int row = static_cast<int>(blockIdx.x) * kRowsPerBlock + warp();
  if (row >= op.x.rows) return;
  const int64_t offset = int64_t{row} * columns;
  RowPart<Shape> z;
  load_row<Shape>(op.x.as<T>() + offset, columns, z);
  drop_row<Shape>(op.dropout, op.sequences, row, columns, z);
  scale_row<Shape>(op.scale, z);
  if (op.residual) add_row<Shape>(op.residual.as<T>() + offset, columns, z);
  if (op.sum) store_row<Shape>(op.sum.as<T>() + offset, columns, z);
  normalize_row<T, Shape>(op, row, columns, z);
  scale_and_shift_row<Shape>(op.gamma.as<T>(), op.beta.as<T>(), columns, z);
  store_row<Shape>(op.y.as<T>() + offset, columns, z);
  Float8Writer<E4M3> copy(op.y_float8);
  write_row<Shape>(copy, offset, columns, z);
  copy.finish();
}

// Column sums of rows, in shared memory because all registers are in use. Every thread has its own
// columns of its warp's rows, so that concurrent accesses use all banks.
template <typename Shape>
struct ColumnSumsOfWarps {
  static constexpr int kPack = Shape::V < 4 ? Shape::V : 4, kPacks = Shape::kValues / kPack;
  using Values = Pack<float, kPack>;
  Values (&of_warps)[kRowsPerBlock][kPacks][kWarpSize];

  __device__ void clear() {
    for (int i = 0; i < kPacks; ++i) of_warps[warp()][i][lane()] = {};
  }
  __device__ void add(int columns, const RowPart<Shape>& row) {
    for_each_pack<Shape>(columns, [&](int step, int) {
#pragma unroll
      for (int i = 0; i < Shape::V; i += kPack) {
        Values& sums = of_warps[warp()][(step * Shape::V + i) / kPack][lane()];
        Values values = sums;
#pragma unroll
        for (int j = 0; j < kPack; ++j) values.values[j] += row[step][i + j];
        sums = values;
      }
    });
  }
  // Writes the block's sums, adding the warps' in order, to parts [columns].
  __device__ void write(int columns, float* parts) {
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < columns; i += kRowThreads) {
      const int step = i / (kWarpSize * Shape::V), of_lane = i / Shape::V % kWarpSize;
      const int value = step * Shape::V + i % Shape::V;
      float sum = 0.0f;
      for (int w = 0; w < kRowsPerBlock; ++w) {
        sum += of_warps[w][value / kPack][of_lane].values[value % kPack];
      }
      parts[i] = sum;
    }
  }
};

template <typename T, bool kNormalizes, typename Shape>
__global__ void __launch_bounds__(kRowThreads, kBackwardBlocks)
    backward_kernel(ResidualLayerNormBackward op, float* parts) {
  const int columns = static_cast<int>(op.dy.cols);
  using SumsOfX = ColumnSumsOfWarps<Shape>;
  __shared__ typename SumsOfX::Values of_warps[kRowsPerBlock][SumsOfX::kPacks][kWarpSize];
  SumsOfX sums_of_x{of_warps};
  if (op.d_x_sums) sums_of_x.clear();
  LayerNormGradients<Shape> sums;
  Float8Writer<E5M2> copy(op.d_x_float8);
  const int rows = static_cast<int>(op.dy.rows);
  for (int row = static_cast<int>(blockIdx.x) * kRowsPerBlock + warp(); row < rows;
       row += static_cast<int>(gridDim.x) * kRowsPerBlock) {
    const int64_t offset = int64_t{row} * columns;
    RowPart<Shape> dz;
    load_row<Shape>(op.dy.as<T>() + offset, columns, dz);
    row_backward<T, kNormalizes>(op, row, columns, dz, sums);
    if (op.d_sum) add_row<Shape>(op.d_sum.as<T>() + offset, columns, dz);
    if (op.d_residual) store_row<Shape>(op.d_residual.as<T>() + offset, columns, dz);
    drop_row<Shape>(op.dropout, op.sequences, row, columns, dz);
    scale_row<Shape>(op.scale, dz);
    if (op.d_x_sums) sums_of_x.add(columns, dz);
    if (op.d_x) store_row<Shape>(op.d_x.as<T>() + offset, columns, dz);
    write_row<Shape>(copy, offset, columns, dz);
  }
  copy.finish();
  parts += int64_t{blockIdx.x} * (op.d_x_sums ? 3 : 2) * columns;
  sums.write(columns, parts);
  if (op.d_x_sums) sums_of_x.write(columns, parts + 2 * columns);
}

template <typename T, typename Shape>
__global__ void __launch_bounds__(kRowThreads) add_forward_kernel(ResidualAddForward op) {
  const int columns = static_cast<int>(op.x.cols);
  const int row = static_cast<int>(blockIdx.x) * kRowsPerBlock + warp();
  if (row >= op.x.rows) return;
  const int64_t offset = int64_t{row} * columns;
  RowPart<Shape> z;
  load_row<Shape>(op.x.as<T>() + offset, columns, z);
  drop_row<Shape>(op.dropout, op.sequences, row, columns, z);
  scale_row<Shape>(op.scale, z);
  add_row<Shape>(op.residual.as<T>() + offset, columns, z);
  store_row<Shape>(op.y.as<T>() + offset, columns, z);
}

template <typename T, typename Shape>
__global__ void __launch_bounds__(kRowThreads) add_backward_kernel(ResidualAddBackward op) {
  const int columns = static_cast<int>(op.dy.cols);
  const int row = static_cast<int>(blockIdx.x) * kRowsPerBlock + warp();
  Float8Writer<E5M2> copy(op.d_x_float8);
  if (row < op.dy.rows) {
    const int64_t offset = int64_t{row} * columns;
    RowPart<Shape> dz;
    load_row<Shape>(op.dy.as<T>() + offset, columns, dz);
    drop_row<Shape>(op.dropout, op.sequences, row, columns, dz);
    scale_row<Shape>(op.scale, dz);
    if (op.d_x) store_row<Shape>(op.d_x.as<T>() + offset, columns, dz);
    write_row<Shape>(copy, offset, columns, dz);
  }
  copy.finish();
}

}  // namespace

template <typename T>
void Operations<T>::residual_layernorm_forward(const Context& context,
                                               const ResidualLayerNormForward& op) {
  const bool aligned = rows_are_aligned(op.x.cols, kVector<T>, op.x.data, op.residual.data,
                                        op.gamma.data, op.beta.data, op.normalized.data,
                                        op.sum.data, op.y.data, op.y_float8.data.data);
  with_row_shape<T>(op.x.cols, aligned, [&](auto shape) {
    launch(context.stream, ceil_div(op.x.rows, kRowsPerBlock), kRowThreads,
           forward_kernel<T, decltype(shape)>, op);
  });
}

template <typename T>
void Operations<T>::residual_layernorm_backward(const Context& context,
                                                const ResidualLayerNormBackward& op) {
  const int64_t columns = op.dy.cols, blocks = backward_blocks(context, op.dy.rows);
  float* parts = context.scratch[0].get<float>(blocks * 3 * columns);
  const bool aligned =
      rows_are_aligned(columns, kVector<T>, op.dy.data, op.d_sum.data, op.normalized.data,
                       op.gamma.data, op.standardization.mean.data, op.standardization.slope.data,
                       op.d_x.data, op.d_residual.data, op.d_x_float8.data.data);
  with_row_shape<T>(columns, aligned, [&](auto shape) {
    // NotFull, because full rows would be loaded at once and exceed the registers that
    // kBackwardBlocks allows.
    using Shape = typename decltype(shape)::NotFull;
    launch(context.stream, blocks, kRowThreads,
           op.normalize ? backward_kernel<T, true, Shape> : backward_kernel<T, false, Shape>, op,
           parts);
  });
  if (!op.d_x_sums) return layernorm_gradients(context, parts, blocks, op);
  sum_parts(context, parts, blocks, columns,
            {{op.d_gamma.as<float>(), op.accumulate},
             {op.d_beta.as<float>(), op.accumulate},
             {op.d_x_sums.sums.as<float>(), op.d_x_sums.accumulate}});
  *op.d_x_sums.done = true;
}

template <typename T>
void Operations<T>::residual_add_forward(const Context& context, const ResidualAddForward& op) {
  const bool aligned =
      rows_are_aligned(op.x.cols, kVector<T>, op.x.data, op.residual.data, op.y.data);
  with_row_shape<T>(op.x.cols, aligned, [&](auto shape) {
    launch(context.stream, ceil_div(op.x.rows, kRowsPerBlock), kRowThreads,
           add_forward_kernel<T, decltype(shape)>, op);
  });
}

template <typename T>
void Operations<T>::residual_add_backward(const Context& context, const ResidualAddBackward& op) {
  const bool aligned =
      rows_are_aligned(op.dy.cols, kVector<T>, op.dy.data, op.d_x.data, op.d_x_float8.data.data);
  with_row_shape<T>(op.dy.cols, aligned, [&](auto shape) {
    launch(context.stream, ceil_div(op.dy.rows, kRowsPerBlock), kRowThreads,
           add_backward_kernel<T, decltype(shape)>, op);
  });
}

STRATA_INSTANTIATE(residual_layernorm_forward, ResidualLayerNormForward);
STRATA_INSTANTIATE(residual_layernorm_backward, ResidualLayerNormBackward);
STRATA_INSTANTIATE(residual_add_forward, ResidualAddForward);
STRATA_INSTANTIATE(residual_add_backward, ResidualAddBackward);

}  // namespace strata::device::cuda
