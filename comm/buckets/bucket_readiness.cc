#include "comm/buckets/bucket_readiness.h"

#include <algorithm>

#include "base/error.h"

namespace strata::comm {

BucketReadiness::BucketReadiness(const std::vector<Range>& buckets, int rounds)
    : buckets_(buckets), rounds_(rounds), missing_(buckets.size()) {
  begin_next_step();
}

void BucketReadiness::check(int64_t begin, int64_t end) const {
  int64_t arena = 0;
  for (const Range& bucket : buckets_) arena = std::max(arena, bucket.end);
  if (begin < 0 || begin > end || end > arena) {
    fail("gradients [{}, {}) marked ready lie outside the arena of {}", begin, end, arena);
  }
}

bool BucketReadiness::take(size_t bucket, int64_t begin, int64_t end) {
  const Range& range = buckets_[bucket];
  const int64_t reported = std::min(end, range.end) - std::max(begin, range.begin);
  if (reported <= 0) return false;
  const int64_t in_round = missing_[bucket] % range.size();
  const bool round_begins = in_round == 0 && missing_[bucket] > 0;
  if (reported > (round_begins ? range.size() : in_round)) {
    fail("gradients [{}, {}) were marked ready twice in one {}", begin, end,
         rounds_ > 1 ? "round" : "step");
  }
  missing_[bucket] -= reported;
  return missing_[bucket] % range.size() == 0;
}

int BucketReadiness::rounds_of(int bucket) const {
  const auto i = static_cast<size_t>(bucket);
  const int64_t size = buckets_[i].size();
  return rounds_ - static_cast<int>((missing_[i] + size - 1) / size);
}

void BucketReadiness::check_all_ready() const {
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    if (missing_[bucket] > 0) {
      fail("finish_step: {} gradients of [{}, {}) were not marked ready", missing_[bucket],
           buckets_[bucket].begin, buckets_[bucket].end);
    }
  }
}

void BucketReadiness::begin_next_step() {
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    missing_[bucket] = rounds_ * buckets_[bucket].size();
  }
}

}  // namespace strata::comm
