#include "comm/buckets/bucket_ranges.h"

#include <algorithm>

#include "base/error.h"

namespace strata::comm {
namespace {

void append_parts(Range range, int64_t bucket_elements, std::vector<Range>& buckets) {
  constexpr int64_t kAlignment = 64;
  const int64_t parts = std::max<int64_t>(1, range.size() / bucket_elements);
  int64_t begin = range.begin;
  for (int64_t part = 1; part < parts; ++part) {
    const int64_t cut = range.size() * part / parts / kAlignment * kAlignment + range.begin;
    if (cut == begin) continue;
    buckets.push_back({begin, cut});
    begin = cut;
  }
  buckets.push_back({begin, range.end});
}

}  // namespace

std::vector<Range> make_buckets(std::span<const int64_t> boundaries, int64_t bucket_elements,
                                const Range& first) {
  if (boundaries.size() < 2 || boundaries.front() != 0) {
    fail("bucket boundaries must start at 0 and end at the arena's size; {} were given",
         boundaries.size());
  }
  if (bucket_elements < 1) fail("a bucket has {} elements: it needs at least 1", bucket_elements);
  std::vector<Range> buckets;
  if (first.size() > 0) append_parts(first, bucket_elements, buckets);
  int64_t begin = 0;
  // Appends the elements up to a boundary.
  const auto close = [&](int64_t end) {
    if (end > begin) append_parts({begin, end}, bucket_elements, buckets);
    begin = end;
  };
  for (size_t i = 1; i < boundaries.size(); ++i) {
    if (boundaries[i] <= boundaries[i - 1]) {
      fail("bucket boundaries must increase, but {} follows {}", boundaries[i], boundaries[i - 1]);
    }
    if (first.size() > 0 && boundaries[i - 1] <= first.begin && first.end <= boundaries[i]) {
      close(first.begin);
      begin = first.end;
    }
    if (boundaries[i] - begin >= bucket_elements || i + 1 == boundaries.size()) {
      close(boundaries[i]);
    }
  }
  return buckets;
}

}  // namespace strata::comm
