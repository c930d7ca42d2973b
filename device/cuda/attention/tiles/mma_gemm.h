// Attention's GEMMs with `mma.sync`, which every supported GPU has: each warp multiplies its own 16
// rows, 8 columns per instruction, and loads right operands into registers.
#pragma once

#include "device/cuda/attention/tiles/attention_tile.h"

namespace strata::device::cuda {

// Rows in order. The eight that an instruction takes together, 8 q + i for one s, differ in q and
// i.
template <int kChunks>
struct MmaLayout {
  static constexpr int kAlignment = 128;
  static __device__ int place(int row) { return row; }
  static __device__ int swizzle(int row) {
    return kChunks == 8 ? row % 2 | row / 8 % 4 * 2 : row / 8 % 4;
  }
};

template <int kSize>
class MmaGemm {
 public:
  static constexpr bool kCompiled = true;
  static constexpr bool kWarpsTogether = false;
  // Columns, in eights, that backward's kernels take at a time; more would need more registers.
  static constexpr int kQueryPart = 4, kQueryUnroll = 1, kKeyPart = 2, kKeyUnroll = 2;
  using Tile = SharedTile<kSize, MmaLayout>;

  static __device__ void wait_for_tiles() { wait_for_copies(); }
  static __device__ void require_alignment(const Tile&) {}

  // c [16, 8 kColumns] = left [16, kSize] times the transpose of the rows of `right` that are
  // columns [8 first, 8 first + 8 kColumns).
  template <int kColumns>
  __device__ void multiply_transposed(const LeftRows<kSize>& left, const Tile& right, int first,
                                      Accumulator<kColumns>& c) const {
#pragma unroll
    for (int t = 0; t < kColumns; ++t) {
#pragma unroll
      for (int i = 0; i < 4; ++i) c[t][i] = 0.0f;
    }
#pragma unroll
    for (int step = 0; step < kSize / 16; ++step) {
#pragma unroll
      for (int t = 0; t < kColumns; t += 2) {
        uint32_t b[4];
        load_matrices(b, columns_.in(right, first + t, 2 * step));
        mma_16x8x16(c[t], left.steps[step], b[0], b[1]);
        mma_16x8x16(c[t + 1], left.steps[step], b[2], b[3]);
      }
    }
  }

  // c [16, kSize] += p [16, 8 kColumns], rounded, times the rows of `tile` that are columns [8
  // first, 8 first + 8 kColumns).
  template <int kColumns>
  __device__ void multiply_add(const Accumulator<kColumns>& p, const Tile& tile, int first,
                               Accumulator<kSize / 8>& c) const {
#pragma unroll
    for (int step = 0; step < kColumns / 2; ++step) {
      uint32_t left[4];
      round_left<kColumns>(p, step, left);
#pragma unroll
      for (int t = 0; t < kSize / 8; t += 2) {
        uint32_t right[4];
        load_matrices_transposed(right, inner_.in(tile, first + 2 * step, t));
        mma_16x8x16(c[t], left, right[0], right[1]);
        mma_16x8x16(c[t + 1], left, right[2], right[3]);
      }
    }
  }

  // Must be called before accumulators are read.
  template <int... kColumns>
  __device__ void finish(Accumulator<kColumns>&...) const {}

 private:
  // Addresses in a tile that a thread passes to instructions that load four matrices of 8 rows: two
  // neighbouring eights of columns, and two chunks.
  class Addresses {
   public:
    __device__ Addresses(int row, int chunk) {
      // Chunks are permuted differently for rows of a matrix, but not for eights of columns.
      const int row_of_matrix = lane() % 8 / 2 * 8 + lane() % 2;
      const int swizzle = Tile::Layout::swizzle(row_of_matrix);
#pragma unroll
      for (int i = 0; i < kSize / 16; ++i) {
        bytes_[i] = 2 * ((row_of_matrix + row) * kSize + ((chunk + 2 * i) ^ swizzle) * 8);
#ifdef __CUDA_ARCH__
        asm("" : "+r"(bytes_[i]));  // otherwise they are recomputed at every use
#endif
      }
    }

    // `t` and `chunk` must be even.
    __device__ const uint16_t* in(const Tile& tile, int t, int chunk) const {
      return reinterpret_cast<const uint16_t*>(
          reinterpret_cast<const char*>(tile.values + (t / 4 * 32 + t % 4 * 2) * kSize) +
          bytes_[chunk / 2]);
    }

   private:
    int bytes_[kSize / 16];
  };

  // A step takes two chunks as the GEMM's inner dimension, or the rows of two eights of columns.
  Addresses columns_{lane() / 16 * 2, lane() / 8 % 2}, inner_{lane() / 8 % 2 * 2, lane() / 16};
};

}  // namespace strata::device::cuda
