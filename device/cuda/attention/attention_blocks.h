// Assigns tiles of sequences to the blocks of attention.
#pragma once

#include "device/backend.h"
#include "device/cuda/runtime/kernel.h"

namespace strata::device::cuda {

inline constexpr int kAttentionThreads = 128;
inline constexpr int kTile = 64;  // rows

__device__ inline int smaller(int a, int b) { return a < b ? a : b; }

// Returns the number of the warp's threads that pass true.
__device__ inline int votes_of_warp(bool yes) {
#ifdef __CUDA_ARCH__
  return __popc(__ballot_sync(0xffffffffu, yes));
#else
  return warp_sum(yes ? 1 : 0);
#endif
}

// The grid of attention: a block takes one tile of queries (or keys) of one head of one sequence.
// blockIdx.y is the head. If lengths are similar, z is the sequence and x its tile, with as many
// tiles as the longest sequence needs. If that would leave many blocks idle, z is 1 and x counts
// tiles of a row in which sequence i begins at cu_seqlens[i] + 63 i. The padding of 63 tokens makes
// each sequence cover as many multiples of 64 as it has tiles, wherever it begins. The number of
// blocks depends only on the count, tokens and longest sequence, so a captured graph serves other
// lengths.
struct Blocks {
  dim3 grid;
  bool side_by_side;
};

// A block's sequence, and its tile's first row in it, which may lie beyond its end.
struct TileOfBlock {
  int sequence, first_row;

  __device__ TileOfBlock(const Sequences& sequences, bool side_by_side) {
    sequence = static_cast<int>(blockIdx.z);
    first_row = static_cast<int>(blockIdx.x) * kTile;
    if (!side_by_side) return;
    int first = 0;
    for (int count = sequences.count; count > 1;) {
      // The threads test sequences `stride` apart: the last one that begins at or before the tile
      // wins.
      const int stride = (count + kWarpSize - 1) / kWarpSize, step = lane() * stride;
      const int passed =
          votes_of_warp(step < count && begin_of(sequences, first + step) <= first_row) - 1;
      first += passed * stride;
      count = smaller(stride, count - passed * stride);
    }
    sequence = __shfl_sync(0xffffffffu, first, 0);  // tells compilers that the value is uniform
    first_row -= (begin_of(sequences, sequence) + kTile - 1) / kTile * kTile;
  }

 private:
  static __device__ int begin_of(const Sequences& sequences, int i) {
    return sequences.cu_seqlens[i] + (kTile - 1) * i;
  }
};

inline Blocks blocks_of(const Sequences& sequences, int32_t heads, int64_t tokens) {
  require(sequences.count < 65536,
          "the cuda backend supports micro-batches of up to 65535 sequences");
  const int64_t of_longest = ceil_div(sequences.max_length, kTile),
                of_all = ceil_div(tokens + int64_t{kTile - 1} * sequences.count, kTile);
  const auto y = static_cast<unsigned>(heads);
  // A block takes about as long to find its sequence as an idle block takes to end.
  if (4 * of_all < 3 * of_longest * sequences.count) {
    return {dim3(static_cast<unsigned>(of_all), y), true};
  }
  return {dim3(static_cast<unsigned>(of_longest), y, static_cast<unsigned>(sequences.count)),
          false};
}

}  // namespace strata::device::cuda
