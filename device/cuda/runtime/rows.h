// Kernels in which a warp holds a whole row in registers.
#pragma once

#include <type_traits>

#include "device/backend.h"
#include "device/cuda/runtime/kernel.h"

namespace strata::device::cuda {

// A warp's threads hold kSteps packs of V columns each: columns (step * 32 + lane) * V + [0, V).
// `kFull_`: rows have exactly that many columns.
template <int V_, int kSteps_, bool kFull_ = false>
struct RowShape {
  static constexpr int V = V_;
  static constexpr int kSteps = kSteps_;
  static constexpr bool kFull = kFull_;
  using NotFull = RowShape<V, kSteps>;
  static constexpr int kValues = V * kSteps;  // per thread
};

// One thread's part of a row; values beyond the row's end are zero.
template <typename Shape>
using RowPart = float[Shape::kSteps][Shape::V];

// Calls body(step, column) for every pack of this thread inside a row of `columns`.
template <typename Shape, typename Body>
__device__ inline void for_each_pack(int columns, const Body& body) {
#pragma unroll
  for (int step = 0; step < Shape::kSteps; ++step) {
    const int column = (step * kWarpSize + lane()) * Shape::V;
    if (Shape::kFull || column < columns) body(step, column);
  }
}

template <typename Shape, typename T>
__device__ inline void load_row(const T* row, int columns, RowPart<Shape>& part) {
#pragma unroll
  for (int step = 0; step < Shape::kSteps; ++step) {
#pragma unroll
    for (int i = 0; i < Shape::V; ++i) part[step][i] = 0.0f;
  }
  for_each_pack<Shape>(columns, [&](int step, int column) { load(row + column, part[step]); });
}

template <typename Shape, typename T>
__device__ inline void add_row(const T* row, int columns, RowPart<Shape>& part) {
  for_each_pack<Shape>(columns, [&](int step, int column) {
    float x[Shape::V];
    load(row + column, x);
#pragma unroll
    for (int i = 0; i < Shape::V; ++i) part[step][i] += x[i];
  });
}

template <typename Shape, typename T>
__device__ inline void store_row(T* row, int columns, const RowPart<Shape>& part) {
  for_each_pack<Shape>(columns, [&](int step, int column) { store(row + column, part[step]); });
}

// Writes elements [offset, offset + columns) with `writer`.
template <typename Shape, typename Writer>
__device__ inline void write_row(Writer& writer, int64_t offset, int columns,
                                 const RowPart<Shape>& part) {
  for_each_pack<Shape>(columns,
                       [&](int step, int column) { writer.write(offset + column, part[step]); });
}

template <typename Shape>
__device__ inline float row_sum(const RowPart<Shape>& part) {
  float sum = 0.0f;
#pragma unroll
  for (int step = 0; step < Shape::kSteps; ++step) {
#pragma unroll
    for (int i = 0; i < Shape::V; ++i) sum += part[step][i];
  }
  return warp_sum(sum);
}

// Returns the sequence of a batch row: the last one that starts at or before it.
__device__ inline int sequence_of(const Sequences& sequences, int row) {
  int first = 0, last = sequences.count - 1;
  while (first < last) {
    const int middle = (first + last + 1) / 2;
    if (sequences.cu_seqlens[middle] <= row) {
      first = middle;
    } else {
      last = middle - 1;
    }
  }
  return first;
}

// part *= the dropout factors of batch row `row`.
template <typename Shape>
__device__ inline void drop_row(const Dropout& dropout, const Sequences& sequences, int row,
                                int columns, RowPart<Shape>& part) {
  if (dropout.probability == 0.0f) return;
  const int sequence = sequence_of(sequences, row);
  const uint64_t sample_id = sequences.sample_ids[sequence];
  const auto position = static_cast<uint32_t>(row - sequences.cu_seqlens[sequence]);
  const DropoutRoundKeys keys = dropout_round_keys(dropout.key());
  const uint32_t threshold = dropout.threshold();
  const float keep_scale = dropout.keep_scale();
  for_each_pack<Shape>(columns, [&](int step, int column) {
    static_assert(8 % Shape::V == 0, "the columns of a pack share a Philox call");
    const DropoutBits bits(keys, sample_id, position, static_cast<uint32_t>(column) / 8);
#pragma unroll
    for (int i = 0; i < Shape::V; ++i) {
      const bool kept = bits.reach(static_cast<uint32_t>(column + i), threshold);
      part[step][i] *= kept ? keep_scale : 0.0f;
    }
  });
}

template <typename Shape>
__device__ inline void scale_row(float scale, RowPart<Shape>& part) {
#pragma unroll
  for (int step = 0; step < Shape::kSteps; ++step) {
#pragma unroll
    for (int i = 0; i < Shape::V; ++i) part[step][i] *= scale;
  }
}

// Calls body(RowShape) with the shape for rows of `columns` elements of T.
template <typename T, typename Body>
void with_row_shape(int64_t columns, bool aligned, const Body& body) {
  constexpr int V = kVector<T>;
  require(columns <= (aligned ? 1024 : 512),
          "the cuda backend supports rows of up to 1024 units, or up to 512 if they are not "
          "aligned to 16 bytes");
  if (!aligned) {
    columns <= 128 ? body(RowShape<1, 4>{}) : body(RowShape<1, 16>{});
  } else if (columns == 512) {
    body(RowShape<V, 512 / V / kWarpSize, true>{});
  } else if (columns == 1024) {
    body(RowShape<V, 1024 / V / kWarpSize, true>{});
  } else if (columns < 512) {
    body(RowShape<V, 512 / V / kWarpSize>{});
  } else {
    body(RowShape<V, 1024 / V / kWarpSize>{});
  }
}

}  // namespace strata::device::cuda
