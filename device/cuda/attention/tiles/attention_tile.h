// Tiles of 64 rows of a head in shared memory, and a block's own rows as left operands of GEMMs: 16
// rows per warp.
#pragma once

#include "device/cuda/attention/attention_blocks.h"
#include "device/cuda/gemm/tensor_cores.h"

namespace strata::device::cuda {

inline constexpr int kWarpRows = 16;

// A warp's [16, 8 kColumns] accumulator, with element i of columns [8 t, 8 t + 8) in [t][i]. It
// belongs to one instruction of all the block's warps, or to kColumns instructions of the warp.
template <int kColumns>
using Accumulator = float[kColumns][4];

// Row within the warp's 16, and column, of element i of columns [8 t, 8 t + 8).
__device__ inline int row_of(int i) { return lane() / 4 + i / 2 * 8; }
__device__ inline int column_of(int t, int i) { return 8 * t + lane() % 4 * 2 + i % 2; }

// The columns of a GEMM of a warp's rows with a tile are the tile's rows. Any 8 rows may be taken
// as columns [8 t, 8 t + 8). Here row r = 8 q + 2 s + i of 32 is column 2 q + i of t = s. A thread
// then has 8 neighbouring rows, from r = 8 (lane % 4), which share a call of dropout's generator.

// Returns the row of the tile for element i of columns t.
__device__ inline int tile_row_of(int t, int i) {
  return t / 4 * 32 + lane() % 4 * 8 + t % 4 * 2 + i % 2;
}

// Returns the row of the tile for a column.
__device__ inline int row_of_column(int column) {
  return column / 32 * 32 + column / 2 % 4 * 8 + column / 8 % 4 * 2 + column % 2;
}

// Layout of a block's own rows: in order, with any eight neighbours in different banks.
template <int kChunks>
struct OwnLayout {
  static constexpr int kAlignment = 128;
  static __device__ int place(int row) { return row; }
  static __device__ int swizzle(int row) { return kChunks == 8 ? row % 8 : row / 2 % 4; }
};

// kTile rows of a head, in chunks of 16 bytes. `Layout` defines the place of a row, and flips bits
// of its chunks' numbers so that chunks that are read together lie in different banks. It places
// rows 32 apart alike.
template <int kSize_, template <int kChunks> typename Layout_>
struct SharedTile {
  static constexpr int kSize = kSize_;
  static constexpr int kChunks = kSize / 8;
  using Layout = Layout_<kChunks>;
  alignas(Layout::kAlignment) uint16_t values[kTile * kSize];  // bits of bfloat16

  __device__ uint16_t* at(int row, int chunk) {
    return values + Layout::place(row) * kSize + (chunk ^ Layout::swizzle(row)) * 8;
  }
  __device__ const uint16_t* at(int row, int chunk) const {
    return values + Layout::place(row) * kSize + (chunk ^ Layout::swizzle(row)) * 8;
  }

  // The same memory in the layout of a block's own rows.
  __device__ SharedTile<kSize, OwnLayout>& own() {
    return reinterpret_cast<SharedTile<kSize, OwnLayout>&>(*this);
  }

  // Returns the start of a thread's part of a matrix with row distance `stride`.
  static __device__ int part(int stride) { return first_row() * stride + chunk() * 8; }

  // Starts copying rows [0, rows) of a matrix, and zeros after them. `from` is this thread's part.
  // All threads of the block call together; a thread sees its part after waiting.
  __device__ void load_later(const BFloat16* from, int stride, int rows) {
    constexpr int kRowsAtOnce = kAttentionThreads / kChunks;
#pragma unroll
    for (int row = 0; row < kTile; row += kRowsAtOnce) {
      copy_later<16>(at(row % 32 + first_row(), chunk()) + row / 32 * 32 * kSize,
                     from + row * stride, row + first_row() < rows);
    }
  }

 private:
  static __device__ int first_row() { return static_cast<int>(threadIdx.x) / kChunks; }
  static __device__ int chunk() { return static_cast<int>(threadIdx.x) % kChunks; }
};

// This warp's rows of a tile as left operands: a step takes 16 columns.
template <int kSize>
struct LeftRows {
  uint32_t steps[kSize / 16][4];

  __device__ void load(const SharedTile<kSize, OwnLayout>& tile) {
    const int matrix = lane() / 8;
#pragma unroll
    for (int step = 0; step < kSize / 16; ++step) {
      load_matrices(steps[step], tile.at(warp() * kWarpRows + lane() % 8 + matrix % 2 * 8,
                                         2 * step + matrix / 2));
    }
  }
};

// Rounds columns [16 step, 16 step + 16) of p to a left operand.
template <int kColumns>
__device__ inline void round_left(const Accumulator<kColumns>& p, int step, uint32_t (&left)[4]) {
  left[0] = two_bfloat16(p[2 * step][0], p[2 * step][1]);
  left[1] = two_bfloat16(p[2 * step][2], p[2 * step][3]);
  left[2] = two_bfloat16(p[2 * step + 1][0], p[2 * step + 1][1]);
  left[3] = two_bfloat16(p[2 * step + 1][2], p[2 * step + 1][3]);
}

}  // namespace strata::device::cuda
