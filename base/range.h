// A run of elements of a flat array.
#pragma once

#include <cstdint>

namespace strata {

// Elements [begin, end).
struct Range {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

// Part `part` of `count` elements that are cut as evenly as can be.
inline Range even_part(int64_t count, int part, int parts) {
  return {count * part / parts, count * (part + 1) / parts};
}

// Shards are multiples of this, 16 bytes in 16-bit dtypes.
inline constexpr int64_t kShardAlignment = 8;

// The elements of `rank` where `count` elements are sharded: equally many for every rank, so that
// one collective exchanges them at any number of ranks. The last rank also has the rest, fewer than
// kShardAlignment * ranks elements.
inline Range shard_of(int64_t count, int rank, int ranks) {
  const int64_t each = count / ranks / kShardAlignment * kShardAlignment;
  return {each * rank, rank + 1 == ranks ? count : each * (rank + 1)};
}

}  // namespace strata
