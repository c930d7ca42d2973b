// Tiles of 64 rows of a head in shared memory, and a block's own rows of one as left operands of
// GEMMs: 16 rows a warp.
#pragma once

#include "device/cuda/attention/attention_blocks.h"
#include "device/cuda/gemm/tensor_cores.h"

namespace strata::device::cuda {

inline constexpr int kWarpRows = 16;

// A warp's [16, 8 kColumns] accumulator, element i of columns [8 t, 8 t + 8) in [t][i]: 16 rows of
// one instruction of the block's warps together, or of kColumns instructions of its own.
template <int kColumns>
using Accumulator = float[kColumns][4];

// The row in the warp's 16, and the column, of element i of columns [8 t, 8 t + 8).
__device__ inline int row_of(int i) { return lane() / 4 + i / 2 * 8; }
__device__ inline int column_of(int t, int i) { return 8 * t + lane() % 4 * 2 + i % 2; }

// The columns of a GEMM of a warp's rows with a tile's are the tile's rows. Which 8 rows are
// taken as columns [8 t, 8 t + 8) is free: here 32 rows r = 8 q + 2 s + i are column 2 q + i of
// t = s, so that a thread has 8 neighbours, r = 8 (lane % 4) and on: those that share a call of
// dropout's generator.

// Of element i of columns t, the row of the tile.
__device__ inline int tile_row_of(int t, int i) {
  return t / 4 * 32 + lane() % 4 * 8 + t % 4 * 2 + i % 2;
}

// The row of the tile that is a column.
__device__ inline int row_of_column(int column) {
  return column / 32 * 32 + column / 2 % 4 * 8 + column / 8 % 4 * 2 + column % 2;
}

// For a block's own rows: in their order, any eight neighbours in different banks.
template <int kChunks>
struct OwnLayout {
  static constexpr int kAlignment = 128;
  static __device__ int place(int row) { return row; }
  static __device__ int swizzle(int row) { return kChunks == 8 ? row % 8 : row / 2 % 4; }
};

// kTile rows of a head, in chunks of 16 bytes. `Layout` says at which place a row lies, and which
// bits of a chunk's number are turned over there, so that chunks that are read together lie in
// different banks; rows 32 apart are placed alike.
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

  // The same memory for a block's own rows.
  __device__ SharedTile<kSize, OwnLayout>& own() {
    return reinterpret_cast<SharedTile<kSize, OwnLayout>&>(*this);
  }

  // Which part of a matrix a thread copies, whose rows are `stride` elements apart: it begins
  // there.
  static __device__ int part(int stride) { return first_row() * stride + chunk() * 8; }

  // Starts copying rows [0, rows) of a matrix, of which `from` is this thread's part, and zeros
  // after them. All threads of the block call together; a thread sees its part after it has waited.
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

// Columns [16 step, 16 step + 16) of p, rounded, as a left operand.
template <int kColumns>
__device__ inline void round_left(const Accumulator<kColumns>& p, int step, uint32_t (&left)[4]) {
  left[0] = two_bfloat16(p[2 * step][0], p[2 * step][1]);
  left[1] = two_bfloat16(p[2 * step][2], p[2 * step][3]);
  left[2] = two_bfloat16(p[2 * step + 1][0], p[2 * step + 1][1]);
  left[3] = two_bfloat16(p[2 * step + 1][2], p[2 * step + 1][3]);
}

}  // namespace strata::device::cuda
