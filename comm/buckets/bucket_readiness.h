// Which buckets backward has finished.
#pragma once

#include <vector>

#include "comm/buckets/bucket_ranges.h"
#include "device/backend.h"

namespace strata::comm {

class BucketReadiness {
 public:
  // Every bucket becomes ready `rounds` times a step.
  explicit BucketReadiness(const std::vector<Range>& buckets, int rounds = 1);

  // Elements [begin, end) were ready when `event` was recorded. Throws Error for a range outside
  // the arena or marked ready twice in a round.
  void mark_ready(int64_t begin, int64_t end, device::Event event);
  bool is_ready(int bucket, int round = 0) const { return rounds_of(bucket) > round; }
  // How often a bucket has been ready whole.
  int rounds_of(int bucket) const;
  bool all_ready() const;
  // When the last part of a bucket was, in its last round.
  device::Event ready_event(int bucket) const { return events_[static_cast<size_t>(bucket)]; }
  // Throws Error where part of a bucket was not marked ready.
  void check_all_ready() const;
  void begin_next_step();

 private:
  std::vector<Range> buckets_;
  int rounds_;
  std::vector<int64_t> missing_;  // elements of every bucket not ready yet, over all rounds
  std::vector<device::Event> events_;
};

}  // namespace strata::comm
