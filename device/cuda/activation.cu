// Activations and their derivatives.
#include "device/cuda/gemm/block_column_sums.h"
#include "device/cuda/gemm/column_sums.h"
#include "device/cuda/gemm/float8_writer.h"
#include "device/cuda/runtime/approximations.h"
#include "device/cuda/runtime/flat.h"
#include "device/cuda/runtime/operations.h"

namespace strata::device::cuda {
namespace {

struct Identity {
  __device__ static float value(float x) { return x; }
  __device__ static float derivative(float) { return 1.0f; }
};

struct Gelu {
  __device__ static float cumulative(float x) {
    return 0.5f * (1.0f + erff(x * 0.707106781186547524f));
  }
  __device__ static float value(float x) { return x * cumulative(x); }
  __device__ static float derivative(float x) {
    return cumulative(x) + x * 0.398942280401432678f * expf(-0.5f * x * x);
  }
};

// gelu(x) = x/2 (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3) (Hendrycks & Gimpel 2016).
// Computed as x sigmoid(2 u), which loses no digits near gelu = 0.
struct GeluTanh {
  static constexpr float kFactor = 2 * 0.797884560802865356f, kCubed = kFactor * 0.044715f;
  // Returns sigmoid(2 u).
  __device__ static float share(float x, float square) {
    const float exponent = x * (-kLog2E * kFactor - kLog2E * kCubed * square);
    return reciprocal_approximately(1.0f + exp2_approximately(exponent));
  }
  __device__ static float value(float x) { return x * share(x, x * x); }
  __device__ static float derivative(float x) {
    const float square = x * x, s = share(x, square);
    return s + x * s * (1.0f - s) * (kFactor + 3.0f * kCubed * square);
  }
};

struct Tanh {
  __device__ static float value(float x) { return tanhf(x); }
  __device__ static float derivative(float x) {
    const float t = tanhf(x);
    return 1.0f - t * t;
  }
};

template <typename Function, int V, typename T>
__global__ void __launch_bounds__(kFlatThreads)
    forward_kernel(const T* pre_activation, T* y, Float8Copy y_float8, int64_t count) {
  Float8Writer<E4M3> copy(y_float8);
  for (int64_t i = flat_index<V>(); i < count; i += flat_stride<V>()) {
    float x[V];
    load(pre_activation + i, x);
#pragma unroll
    for (int j = 0; j < V; ++j) x[j] = Function::value(x[j]);
    if (y) store(y + i, x);
    copy.write(i, x);
  }
  copy.finish();
}

template <typename Function, int V, typename T>
__global__ void __launch_bounds__(kFlatThreads)
    backward_kernel(const T* dy, const T* pre_activation, T* dx, Float8Copy dx_float8,
                    int64_t count) {
  Float8Writer<E5M2> copy(dx_float8);
  for (int64_t i = flat_index<V>(); i < count; i += flat_stride<V>()) {
    float d[V], x[V];
    load(dy + i, d);
    load(pre_activation + i, x);
#pragma unroll
    for (int j = 0; j < V; ++j) d[j] *= Function::derivative(x[j]);
    if (dx) store(dx + i, d);
    copy.write(i, d);
  }
  copy.finish();
}

// The same for a matrix [rows, columns]. Blocks write its column sums to parts [row blocks,
// columns], divided as in SumsGrid: a lane takes V columns, a warp every eighth row, and the warps'
// sums are added in order.
template <typename Function, int V, typename T>
__global__ void __launch_bounds__(kFlatThreads)
    backward_and_sum_kernel(const T* dy, const T* pre_activation, T* dx, Float8Copy dx_float8,
                            int64_t rows, int64_t columns, SumsGrid grid, float* parts) {
  constexpr int kWarps = kFlatThreads / kWarpSize;
  __shared__ float of_warps[kWarps][kWarpSize * V];
  Float8Writer<E5M2> copy(dx_float8);
  const int64_t row_block = blockIdx.x / grid.column_blocks;
  const int64_t first_column = blockIdx.x % grid.column_blocks * kWarpSize * V;
  const int64_t column = first_column + lane() * V;
  const int64_t begin = row_block * grid.rows_per_block;
  const int64_t end = begin + grid.rows_per_block < rows ? begin + grid.rows_per_block : rows;
  float sums[V] = {};
  if (column < columns) {
#pragma unroll 2
    for (int64_t row = begin + warp(); row < end; row += kWarps) {
      const int64_t i = row * columns + column;
      float d[V], x[V];
      load(dy + i, d);
      load(pre_activation + i, x);
#pragma unroll
      for (int j = 0; j < V; ++j) {
        d[j] *= Function::derivative(x[j]);
        sums[j] += d[j];
      }
      if (dx) store(dx + i, d);
      copy.write(i, d);
    }
  }
  copy.finish();
  write_block_sums(of_warps, sums, columns - first_column,
                   parts + row_block * columns + first_column);
}

Float8Copy part_of_copy(Float8Copy copy, int64_t begin) {
  copy.data.data = part_of(copy.data.as<uint8_t>(), begin);
  return copy;
}

template <typename Body>
void with_function(Activation activation, const Body& body) {
  switch (activation) {
    case Activation::kNone:
      return body(Identity{});
    case Activation::kGelu:
      return body(Gelu{});
    case Activation::kGeluTanh:
      return body(GeluTanh{});
    case Activation::kTanh:
      return body(Tanh{});
  }
}

}  // namespace

template <typename T>
void Operations<T>::activation_forward(const Context& context, Activation activation,
                                       const ConstTensor& pre_activation, const Tensor& y,
                                       const Float8Copy& y_float8) {
  with_function(activation, [&](auto function) {
    for_flat_parts<T>(y.size(), are_aligned(pre_activation.data, y.data, y_float8.data.data),
                      [&](auto width, int64_t begin, int64_t count, int64_t blocks) {
                        launch(context.stream, limited_blocks(context, blocks), kFlatThreads,
                               forward_kernel<decltype(function), width(), T>,
                               pre_activation.as<T>() + begin, part_of(y.as<T>(), begin),
                               part_of_copy(y_float8, begin), count);
                      });
  });
}

template <typename T>
void Operations<T>::activation_backward(const Context& context, const ActivationBackward& op,
                                        const Float8Copy& dx_float8, const ColumnSums& sums,
                                        int slot) {
  const ConstTensor& pre_activation =
      op.activation == Activation::kNone ? op.dy : op.pre_activation;
  with_function(op.activation, [&](auto function) {
    if (sums) {
      constexpr int V = kVector<T>;
      const int64_t rows = op.dx.rows, columns = op.dx.cols;
      const bool aligned = rows_are_aligned(columns, V, op.dy.data, pre_activation.data, op.dx.data,
                                            dx_float8.data.data);
      const SumsGrid grid(rows, columns, kWarpSize * (aligned ? V : 1));
      float* parts = context.scratch[slot].get<float>(grid.row_blocks * columns);
      launch(context.stream, grid.blocks(), kFlatThreads,
             aligned ? backward_and_sum_kernel<decltype(function), V, T>
                     : backward_and_sum_kernel<decltype(function), 1, T>,
             op.dy.as<T>(), pre_activation.as<T>(), op.dx.as<T>(), dx_float8, rows, columns, grid,
             parts);
      return sum_parts(context, parts, grid.row_blocks, columns,
                       {{sums.sums.as<float>(), sums.accumulate}});
    }
    for_flat_parts<T>(
        op.dx.size(), are_aligned(op.dy.data, pre_activation.data, op.dx.data, dx_float8.data.data),
        [&](auto width, int64_t begin, int64_t count, int64_t blocks) {
          launch(context.stream, limited_blocks(context, blocks), kFlatThreads,
                 backward_kernel<decltype(function), width(), T>, op.dy.as<T>() + begin,
                 pre_activation.as<T>() + begin, part_of(op.dx.as<T>(), begin),
                 part_of_copy(dx_float8, begin), count);
        });
  });
}

template <typename T>
void Operations<T>::activation_backward(const Context& context, const ActivationBackward& op) {
  activation_backward(context, op, {}, {}, 0);
}

STRATA_INSTANTIATE(activation_backward, ActivationBackward);
template void Operations<float>::activation_forward(const Context&, Activation, const ConstTensor&,
                                                    const Tensor&, const Float8Copy&);
template void Operations<BFloat16>::activation_forward(const Context&, Activation,
                                                       const ConstTensor&, const Tensor&,
                                                       const Float8Copy&);
template void Operations<float>::activation_backward(const Context&, const ActivationBackward&,
                                                     const Float8Copy&, const ColumnSums&, int);
template void Operations<BFloat16>::activation_backward(const Context&, const ActivationBackward&,
                                                        const Float8Copy&, const ColumnSums&, int);
template void Operations<Float16>::activation_forward(const Context&, Activation,
                                                      const ConstTensor&, const Tensor&,
                                                      const Float8Copy&);
template void Operations<Float16>::activation_backward(const Context&, const ActivationBackward&,
                                                       const Float8Copy&, const ColumnSums&, int);

}  // namespace strata::device::cuda
