// Tracks which buckets backward has completed.
#pragma once

#include <vector>

#include "comm/buckets/bucket_ranges.h"

namespace strata::comm {

class BucketReadiness {
 public:
  // Every bucket becomes ready `rounds` times a step.
  explicit BucketReadiness(const std::vector<Range>& buckets, int rounds = 1);

  // Marks elements [begin, end) ready. Calls `ready(bucket, round)` for every bucket that they
  // complete. Throws Error for a range outside the arena or marked ready twice in a round.
  template <typename Ready>
  void mark_ready(int64_t begin, int64_t end, const Ready& ready) {
    check(begin, end);
    for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
      if (take(bucket, begin, end)) {
        const int number = static_cast<int>(bucket);
        ready(number, rounds_of(number) - 1);
      }
    }
  }
  bool is_ready(int bucket, int round = 0) const { return rounds_of(bucket) > round; }
  // Returns the number of rounds in which the bucket was completed.
  int rounds_of(int bucket) const;
  // Throws Error if part of a bucket was not marked ready.
  void check_all_ready() const;
  void begin_next_step();

 private:
  void check(int64_t begin, int64_t end) const;
  // Returns true if these elements complete the bucket.
  bool take(size_t bucket, int64_t begin, int64_t end);

  std::vector<Range> buckets_;
  int rounds_;
  std::vector<int64_t> missing_;  // elements of each bucket that are not ready yet, over all rounds
};

}  // namespace strata::comm
