// How the gradient arena is cut into buckets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace strata::comm {

// Arena elements [begin, end).
struct BucketRange {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool operator==(const BucketRange&) const = default;
};

// Joins the ranges between `boundaries` (0, rising, ..., n) until they hold `bucket_elements`, and
// cuts what holds several times that much into equal parts at multiples of 64 elements, so that one
// large tensor does not make one large bucket. Throws Error where the boundaries do not rise from
// 0.
std::vector<BucketRange> make_buckets(std::span<const int64_t> boundaries, int64_t bucket_elements);

}  // namespace strata::comm
