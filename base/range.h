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

// The elements of `rank` where `count` elements are sharded as evenly as can be.
inline Range shard_of(int64_t count, int rank, int ranks) {
  return {count * rank / ranks, count * (rank + 1) / ranks};
}

}  // namespace strata
