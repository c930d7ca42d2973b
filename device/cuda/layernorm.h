// LayerNorm of a row that a warp holds in registers.
#pragma once

#include "device/cuda/gemm/column_sums.h"
#include "device/cuda/gemm/float8_writer.h"
#include "device/cuda/runtime/rows.h"

namespace strata::device::cuda {

inline constexpr int kRowThreads = 128;
inline constexpr int kRowsPerBlock = kRowThreads / kWarpSize;
// Blocks of a backward kernel per multiprocessor. It is the kernels' launch bound, and
// kernel_resources.sh checks their registers against it.
inline constexpr int kBackwardBlocks = 3;

// Replaces z, a batch row, by (z - mean) / stddev. Keeps it in normalized [T, H] and 1 / stddev in
// inverse_stddev [T] for backward, if these are present.
template <typename T, typename Shape>
__device__ inline void normalize_row(RowPart<Shape>& z, int64_t row, int columns, float epsilon,
                                     const Tensor& normalized, const Tensor& inverse_stddev) {
  const float mean = row_sum<Shape>(z) / static_cast<float>(columns);
  float squares = 0.0f;
  for_each_pack<Shape>(columns, [&](int step, int) {
#pragma unroll
    for (int i = 0; i < Shape::V; ++i) {
      z[step][i] -= mean;
      squares += z[step][i] * z[step][i];
    }
  });
  const float inverse = rsqrtf(warp_sum(squares) / static_cast<float>(columns) + epsilon);
  for_each_pack<Shape>(columns, [&](int step, int) {
#pragma unroll
    for (int i = 0; i < Shape::V; ++i) z[step][i] *= inverse;
  });
  if (normalized) store_row<Shape>(normalized.as<T>() + row * columns, columns, z);
  if (inverse_stddev && lane() == 0) inverse_stddev.as<float>()[row] = inverse;
}

// Computes the factor of gamma: z normalized, or unchanged. Keeps it for backward.
template <typename T, typename Shape, typename Op>
__device__ inline void normalize_row(const Op& op, int64_t row, int columns, RowPart<Shape>& z) {
  if (op.normalize) {
    normalize_row<T, Shape>(z, row, columns, op.epsilon, op.normalized, op.inverse_stddev);
  } else if (op.normalized) {
    store_row<Shape>(op.normalized.template as<T>() + row * columns, columns, z);
  }
}

// z = z * gamma + beta.
template <typename Shape, typename T>
__device__ inline void scale_and_shift_row(const T* gamma, const T* beta, int columns,
                                           RowPart<Shape>& z) {
  for_each_pack<Shape>(columns, [&](int step, int column) {
    float g[Shape::V], b[Shape::V];
    load(gamma + column, g);
    load(beta + column, b);
#pragma unroll
    for (int i = 0; i < Shape::V; ++i) z[step][i] = z[step][i] * g[i] + b[i];
  });
}

// A thread's contributions to the gradients of gamma and beta.
template <typename Shape>
struct LayerNormGradients {
  RowPart<Shape> gamma = {}, beta = {};

  // Writes the block's sums to parts[0, columns) and parts[columns, 2 * columns).
  __device__ void write(int columns, float* parts);
};

// Replaces dy by the gradient of LayerNorm's input: (g - mean(g) - xhat mean(g xhat)) / stddev, g =
// dy gamma.
template <typename Shape, typename T>
__device__ inline void normalize_row_backward(const T* normalized, const T* gamma,
                                              float inverse_stddev, int columns, RowPart<Shape>& dy,
                                              LayerNormGradients<Shape>& sums) {
  RowPart<Shape> xhat;
  load_row<Shape>(normalized, columns, xhat);
  float sum = 0.0f, dot = 0.0f;
  for_each_pack<Shape>(columns, [&](int step, int column) {
    float g[Shape::V];
    load(gamma + column, g);
#pragma unroll
    for (int i = 0; i < Shape::V; ++i) {
      float& d = dy[step][i];
      sums.gamma[step][i] += d * xhat[step][i];
      sums.beta[step][i] += d;
      d *= g[i];
      sum += d;
      dot += d * xhat[step][i];
    }
  });
  const float mean = warp_sum(sum) / static_cast<float>(columns);
  const float mean_dot = warp_sum(dot) / static_cast<float>(columns);
  for_each_pack<Shape>(columns, [&](int step, int) {
#pragma unroll
    for (int i = 0; i < Shape::V; ++i) {
      dy[step][i] = (dy[step][i] - mean - xhat[step][i] * mean_dot) * inverse_stddev;
    }
  });
}

// The same for a row x that was not normalized: dy gamma plus the standardization loss's gradient.
template <typename Shape, typename T>
__device__ inline void standardized_row_backward(const StandardizationGradient& standardization,
                                                 int64_t row, const T* x, const T* gamma,
                                                 int columns, RowPart<Shape>& dy,
                                                 LayerNormGradients<Shape>& sums) {
  const bool counts = standardization.mean && row < standardization.rows.now();
  const bool of_units = standardization.axis == StandardizationAxis::kUnit;
  const float scale = counts ? standardization.scale.now() : 0.0f;
  const auto *means = standardization.mean.as<float>(), *slopes = standardization.slope.as<float>();
  RowPart<Shape> z;
  load_row<Shape>(x, columns, z);
  for_each_pack<Shape>(columns, [&](int step, int column) {
    float g[Shape::V], mean[Shape::V], slope[Shape::V];
    load(gamma + column, g);
    if (counts && of_units) {
      load(means + column, mean);
      load(slopes + column, slope);
    } else {
#pragma unroll
      for (int i = 0; i < Shape::V; ++i) {
        mean[i] = counts ? means[row] : 0.0f;
        slope[i] = counts ? slopes[row] : 0.0f;
      }
    }
#pragma unroll
    for (int i = 0; i < Shape::V; ++i) {
      float& d = dy[step][i];
      sums.gamma[step][i] += d * z[step][i];
      sums.beta[step][i] += d;
      d = d * g[i] + scale * mean[i] + slope[i] * (z[step][i] - mean[i]);
    }
  });
}

// Calls one of the two above.
template <typename T, bool kNormalizes, typename Shape, typename Op>
__device__ inline void row_backward(const Op& op, int64_t row, int columns, RowPart<Shape>& dy,
                                    LayerNormGradients<Shape>& sums) {
  const T* normalized = op.normalized.template as<T>() + row * columns;
  const T* gamma = op.gamma.template as<T>();
  if constexpr (kNormalizes) {
    normalize_row_backward<Shape>(normalized, gamma, op.inverse_stddev.template as<float>()[row],
                                  columns, dy, sums);
  } else {
    standardized_row_backward<Shape>(op.standardization, row, normalized, gamma, columns, dy, sums);
  }
}

template <typename Shape>
__device__ inline void LayerNormGradients<Shape>::write(int columns, float* parts) {
  // Elements of a pack lie apart, so that a warp accesses 32 different banks.
  constexpr int kApart = kWarpSize * Shape::kSteps + kWarpSize / Shape::V;
  __shared__ float sums[2][Shape::V * kApart];
  const auto place = [](int column) { return column % Shape::V * kApart + column / Shape::V; };
  for (int turn = 0; turn < kRowsPerBlock; ++turn) {  // warps add in order
    __syncthreads();
    if (warp() != turn) continue;
    for_each_pack<Shape>(columns, [&](int step, int column) {
#pragma unroll
      for (int i = 0; i < Shape::V; ++i) {
        float &of_gamma = sums[0][place(column) + i * kApart],
              &of_beta = sums[1][place(column) + i * kApart];
        of_gamma = (turn == 0 ? 0.0f : of_gamma) + gamma[step][i];
        of_beta = (turn == 0 ? 0.0f : of_beta) + beta[step][i];
      }
    });
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += kRowThreads) {
    parts[i] = sums[0][place(i)];
    parts[columns + i] = sums[1][place(i)];
  }
}

// Blocks of a backward kernel, each of which writes one row of partial sums: at most as many as fit
// on the device at once, and at most as many as there are rows for.
inline int64_t backward_blocks(const Context& context, int64_t rows) {
  const int64_t most = kBackwardBlocks * int64_t{context.multiprocessors};
  const int64_t needed = ceil_div(rows, kRowsPerBlock);
  return needed < most ? needed : most;
}

// Computes the gradients of gamma and beta from the parts [blocks, 2 * columns] that
// LayerNormGradients::write left.
template <typename Op>
void layernorm_gradients(const Context& context, const float* parts, int64_t blocks, const Op& op) {
  const int64_t columns = op.d_gamma.size();
  sum_parts(context, parts, blocks, columns,
            {{op.d_gamma.template as<float>(), op.accumulate},
             {op.d_beta.template as<float>(), op.accumulate}});
}

}  // namespace strata::device::cuda
