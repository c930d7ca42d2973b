// Blocks of attention, and the tile of a sequence that each takes.
#pragma once

#include "device/backend.h"
#include "device/cuda/runtime/kernel.h"

namespace strata::device::cuda {

inline constexpr int kAttentionThreads = 128;
inline constexpr int kTile = 64;  // rows

__device__ inline int smaller(int a, int b) { return a < b ? a : b; }

// How many of the warp's threads say yes.
__device__ inline int votes_of_warp(bool yes) {
#ifdef __CUDA_ARCH__
  return __popc(__ballot_sync(0xffffffffu, yes));
#else
  return warp_sum(yes ? 1 : 0);
#endif
}

// Blocks are a tile of queries (or keys) of a head of a sequence: y counts heads. Either z counts
// sequences and x tiles of the longest, or, where that leaves many without work, z is 1 and x
// counts tiles of all sequences as if each were 63 tokens longer and they lay side by side: in
// cu_seqlens[i] + 63 i and on, sequence i then has at least the multiples of 64 that its tiles
// need, wherever it begins. The number of blocks does not depend on where sequences end, so that a
// captured graph may be launched for others.
struct Blocks {
  dim3 grid;
  bool side_by_side;
};

// The sequence of a block, and its tile's first row there, which may lie beyond its end.
struct TileOfBlock {
  int sequence, first_row;

  __device__ TileOfBlock(const Sequences& sequences, bool side_by_side) {
    sequence = static_cast<int>(blockIdx.z);
    first_row = static_cast<int>(blockIdx.x) * kTile;
    if (!side_by_side) return;
    int first = 0;
    for (int count = sequences.count; count > 1;) {
      // Threads ask about sequences `stride` apart; those that begin before the tile come first.
      const int stride = (count + kWarpSize - 1) / kWarpSize, step = lane() * stride;
      const int passed =
          votes_of_warp(step < count && begin_of(sequences, first + step) <= first_row) - 1;
      first += passed * stride;
      count = smaller(stride, count - passed * stride);
    }
    sequence = __shfl_sync(0xffffffffu, first, 0);  // which compilers then know to be uniform
    first_row -= (begin_of(sequences, sequence) + kTile - 1) / kTile * kTile;
  }

 private:
  static __device__ int begin_of(const Sequences& sequences, int i) {
    return sequences.cu_seqlens[i] + (kTile - 1) * i;
  }
};

inline Blocks blocks_of(const Sequences& sequences, int32_t heads, int64_t tokens) {
  require(sequences.count < 65536, "the cuda backend takes micro-batches of up to 65535 sequences");
  const int64_t of_longest = ceil_div(sequences.max_length, kTile),
                of_all = ceil_div(tokens + int64_t{kTile - 1} * sequences.count, kTile);
  const auto y = static_cast<unsigned>(heads);
  // Finding its sequence takes a block about as long as a block without work takes.
  if (4 * of_all < 3 * of_longest * sequences.count) {
    return {dim3(static_cast<unsigned>(of_all), y), true};
  }
  return {dim3(static_cast<unsigned>(of_longest), y, static_cast<unsigned>(sequences.count)),
          false};
}

}  // namespace strata::device::cuda
