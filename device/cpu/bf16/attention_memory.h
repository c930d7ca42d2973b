// The memory of one head's attention and the order of what lies there. Included once, by a source
// that is compiled for AVX-512 BF16.
#pragma once

#include <cstdint>

#include "device/cpu/bf16/products.h"
#include "device/cpu/kernels/attention/attention_head.h"

namespace strata::device::cpu {
namespace {

// Queries whose probabilities are held at once, and of these whose scores are: multiples of a tile.
constexpr int64_t kForwardBlock = 48;
constexpr int64_t kBackwardBlock = 96;
constexpr int64_t kScored = 12;

// Keys side by side in a row of packed probabilities and score gradients (left operands): whole
// tiles, and three cache lines, an odd number, so that rows spread over the cache's sets.
constexpr int64_t kKeyGroup = 48;

// Columns of scores that are exponentiated together, so that few of them wait for each other.
constexpr int64_t kColumns = 64;

int64_t rounded_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// The sizes by which a head's matrices are laid out.
struct Sizes {
  int64_t n, d;
  int64_t keys;       // n, rounded up to whole registers
  int64_t row;        // of scores: n, rounded up to kColumns
  int64_t key_pairs;  // pairs of neighbouring keys, (n + 1) / 2
  int64_t packed;     // pairs of keys transposed, in whole groups
  int64_t weights;    // pairs of a block's weights, by groups of keys

  Sizes(int64_t length, int64_t head_size)
      : n(length),
        d(head_size),
        keys(rounded_up(length, kWords)),
        row(rounded_up(length, kColumns)),
        key_pairs((length + 1) / 2),
        packed(head_size / 2 * rounded_up(length, kGroup)),
        weights(kBackwardBlock / 2 * rounded_up(row, kKeyGroup)) {}

  Right transposed(const Pair* data) const { return {data, kGroup, d / 2 * kGroup}; }
  Right rows(const Pair* data) const { return {data, d, kGroup}; }
};

struct ForwardMemory {
  Pair *keys, *values;
  float* scores;
  uint16_t* weights;
  float* sums;  // [kForwardBlock, d]: weights times values
  uint64_t* kept;
  int64_t bytes;

  ForwardMemory(const Sizes& size, void* memory) {
    Pieces pieces(memory);
    keys = pieces.take<Pair>(size.packed);
    values = pieces.take<Pair>(size.key_pairs * size.d);
    scores = pieces.take<float>(kScored * size.row);
    weights = pieces.take<uint16_t>(kForwardBlock * size.row);
    sums = pieces.take<float>(kForwardBlock * size.d);
    kept = pieces.take<uint64_t>(kScored * size.row / kColumns);
    bytes = pieces.used();
  }
};

struct BackwardMemory {
  Pair *keys, *values;              // transposed
  Pair* key_rows;                   // pairs of keys
  Pair *queries, *d_out;            // pairs of queries of a block
  float *scores, *d_probabilities;  // scores become probabilities
  Pair *probabilities, *d_scores;   // pairs of queries of a block
  uint16_t* d_score_rows;
  float *d_keys, *d_values;  // of the blocks so far
  uint64_t* kept;            // [kScored, row / kColumns]
  int64_t bytes;

  BackwardMemory(const Sizes& size, void* memory) {
    Pieces pieces(memory);
    keys = pieces.take<Pair>(size.packed);
    values = pieces.take<Pair>(size.packed);
    key_rows = pieces.take<Pair>(size.key_pairs * size.d);
    queries = pieces.take<Pair>(kBackwardBlock / 2 * size.d);
    d_out = pieces.take<Pair>(kBackwardBlock / 2 * size.d);
    scores = pieces.take<float>(kScored * size.row);
    d_probabilities = pieces.take<float>(kScored * size.row);
    probabilities = pieces.take<Pair>(size.weights);
    d_scores = pieces.take<Pair>(size.weights);
    d_score_rows = pieces.take<uint16_t>(kBackwardBlock * size.row);
    const bool one_block = size.n <= kBackwardBlock;
    d_keys = pieces.take<float>(one_block ? 0 : size.n * size.d);
    d_values = pieces.take<float>(one_block ? 0 : size.n * size.d);
    kept = pieces.take<uint64_t>(kScored * size.row / kColumns);
    bytes = pieces.used();
  }
};

}  // namespace
}  // namespace strata::device::cpu
