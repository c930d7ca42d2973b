// Ranges of elements in a flat array.
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

// Returns part `part` of [0, count), cut into `parts` parts as evenly as possible.
inline Range even_part(int64_t count, int part, int parts) {
  return {count * part / parts, count * (part + 1) / parts};
}

// Shards are multiples of this, 16 bytes in 16-bit dtypes.
inline constexpr int64_t kShardAlignment = 8;

// Returns the shard of `rank`. All shards begin at multiples of kShardAlignment and have the same
// size, so that one collective exchanges them at any number of ranks; only the last is longer, by
// the rest of fewer than kShardAlignment * ranks elements. Requires 0 <= rank < ranks.
inline Range shard_of(int64_t count, int rank, int ranks) {
  const int64_t each = count / ranks / kShardAlignment * kShardAlignment;
  return {each * rank, rank + 1 == ranks ? count : each * (rank + 1)};
}

}  // namespace strata
