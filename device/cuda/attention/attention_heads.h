// Code shared by attention's kernels on tensor cores: a head, its tiles, and dropout of its scores.
#pragma once

#include <type_traits>

#include "device/cuda/attention/attention.h"
#include "device/cuda/attention/attention_blocks.h"
#include "device/cuda/attention/tiles/attention_tile.h"
#include "device/cuda/gemm/float8_writer.h"
#include "device/cuda/runtime/approximations.h"
#include "device/cuda/runtime/rows.h"

namespace strata::device::cuda {

inline constexpr float kLn2 = 0.693147180559945309f;
// Maximum exponent by which a score may exceed the maximum that its row's exponentials are relative
// to.
inline constexpr float kMostGrowth = 8.0f;

// Blocks of a kernel per multiprocessor (launch bound).
inline constexpr int kBlocksAtOnce = 3;

enum QkvPart { kQuery = 0, kKey = 1, kValue = 2 };

// One head of one sequence.
struct Head {
  int first, length;  // tokens
  int index, hidden;
  uint64_t sample_id;

  __device__ Head(const Sequences& sequences, int sequence, int index_, int hidden_)
      : first(sequences.cu_seqlens[sequence]),
        length(sequences.cu_seqlens[sequence + 1] - first),
        index(index_),
        hidden(hidden_),
        sample_id(sequences.sample_ids[sequence]) {}

  // Returns the position of the head in the row of token `at`, in qkv [T, 3 hidden] or in [T,
  // hidden].
  template <int kSize>
  __device__ int64_t in_qkv(int at, QkvPart part) const {
    return (int64_t{first} + at) * 3 * hidden + part * hidden + index * kSize;
  }
  template <int kSize>
  __device__ int64_t in_context(int at) const {
    return (int64_t{first} + at) * hidden + index * kSize;
  }
  __device__ int64_t statistic(int heads, int at) const {
    return (int64_t{first} + at) * heads + index;
  }
};

// Writes `scale` times this warp's rows of c below `rows` to a matrix with row distance `stride`,
// from element `begin`, if that has memory, and to its copy.
template <int kSize, typename Writer>
__device__ inline void store_rows(const Accumulator<kSize / 8>& c, const float (&scale)[2],
                                  int rows, BFloat16* to, Writer& copy, int64_t begin, int stride) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = warp() * kWarpRows + row_of(2 * half);
    if (row >= rows) continue;
    const int64_t at = begin + row * stride + column_of(0, 0);
#pragma unroll
    for (int t = 0; t < kSize / 8; ++t) {
      const float two[2] = {c[t][2 * half] * scale[half], c[t][2 * half + 1] * scale[half]};
      // Without FP8, the matrix always has memory.
      if (!kHasFloat8 || to) store(to + at + 8 * t, two);
      copy.write(at + 8 * t, two);
    }
  }
}

// ---- Rows

// Reductions over the four threads that share a row of an accumulator.
__device__ inline float row_group_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}
__device__ inline float row_group_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

// Returns warp() in a form that compilers know to be uniform.
__device__ inline int uniform_warp() { return __shfl_sync(0xffffffffu, warp(), 0); }

// Makes probabilities of keys from `keys` on 0. kColumns: a multiple of 4.
template <int kColumns>
__device__ inline void hide_beyond(int keys, Accumulator<kColumns>& scores) {
  if (keys >= 8 * kColumns) return;
#pragma unroll
  for (int t = 0; t < kColumns; ++t) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (tile_row_of(t, i) >= keys) scores[t][i] = -INFINITY;
    }
  }
}

__device__ inline float keep_scale_of(const Dropout& dropout) {
  return dropout.probability > 0.0f ? dropout.keep_scale() : 1.0f;
}

// Dropout of one head's scores.
struct HeadDropout {
  // In shared memory, to save registers while tiles are multiplied.
  const DropoutRoundKeys& keys;
  uint64_t sample_id;
  uint32_t threshold, first_row;
  float keep_scale;
  bool drops;

  // Must be followed by a __syncthreads before any use.
  __device__ HeadDropout(const Dropout& dropout, const Head& head, DropoutRoundKeys& shared_keys)
      : keys(shared_keys),
        sample_id(head.sample_id),
        threshold(dropout.threshold()),
        first_row(static_cast<uint32_t>(head.index) * 65536u),
        keep_scale(keep_scale_of(dropout)),
        drops(dropout.probability > 0.0f) {
    if (drops && threadIdx.x == 0) shared_keys = dropout_round_keys(dropout.key());
  }

  // Returns the bits of keys [8 block, 8 block + 8).
  __device__ DropoutBits bits(int query, int block) const {
    return {keys, sample_id, first_row + static_cast<uint32_t>(query),
            static_cast<uint32_t>(block)};
  }
};

// Clears the elements of p that dropout drops. kColumns: a multiple of 4. `query` is that of the
// warp's first row, `first_key` that of p's first column. Calls note(half, block, mask) with the
// kept ones of a block's eight keys, in the rows of elements 2 half and 2 half + 1.
template <int kColumns, typename Note>
__device__ inline void drop(const HeadDropout& dropout, int query, int first_key,
                            Accumulator<kColumns>& p, const Note& note) {
  if (!dropout.drops) return;
#pragma unroll
  for (int group = 0; group < kColumns / 4; ++group) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int block = first_key / 8 + 4 * group + lane() % 4;
      const DropoutBits bits = dropout.bits(query + row_of(2 * half), block);
      uint32_t mask = 0;
#pragma unroll
      for (int key = 0; key < 8; ++key) {
        const bool kept = bits.reach(static_cast<uint32_t>(key), dropout.threshold);
        float& element = p[4 * group + key / 2][2 * half + key % 2];
        element = kept ? element : 0.0f;
        mask |= kept ? 1u << key : 0u;
      }
      note(half, block, mask);
    }
  }
}

// Loads a head's keys and values tile by tile.
template <typename Tile>
class KeysAndValues {
 public:
  __device__ KeysAndValues(const BFloat16* qkv, const Head& head)
      : next_keys_(qkv + head.in_qkv<Tile::kSize>(0, kKey) + Tile::part(3 * head.hidden)),
        hidden_(head.hidden) {}

  // Starts copying the next tile; `keys_left` keys remain.
  __device__ void load_next(Tile& keys, Tile& values, int keys_left) {
    const int stride = 3 * hidden_;
    keys.load_later(next_keys_, stride, keys_left);
    values.load_later(next_keys_ + (kValue - kKey) * hidden_, stride, keys_left);
    next_keys_ += kTile * stride;
  }

 private:
  const BFloat16* next_keys_;  // this thread's part
  int hidden_;
};

// Stops a kernel on a GPU that its GEMMs were not compiled for, because no result is better than a
// wrong one.
__device__ inline void stop_without_products() {
#ifdef __CUDA_ARCH__
  __trap();
#endif
}

}  // namespace strata::device::cuda
