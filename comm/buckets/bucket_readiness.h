// Which buckets backward has finished.
#pragma once

#include <vector>

#include "comm/buckets/bucket_ranges.h"
#include "device/backend.h"

namespace strata::comm {

class BucketReadiness {
 public:
  explicit BucketReadiness(const std::vector<Range>& buckets);

  // Elements [begin, end) were ready when `event` was recorded. Throws Error for a range outside
  // the arena or marked ready twice.
  void mark_ready(int64_t begin, int64_t end, device::Event event);
  bool is_ready(int bucket) const { return missing_[static_cast<size_t>(bucket)] == 0; }
  bool all_ready() const;
  // When the last part of a bucket was.
  device::Event ready_event(int bucket) const { return events_[static_cast<size_t>(bucket)]; }
  // Throws Error where part of a bucket was not marked ready.
  void check_all_ready() const;
  void begin_next_step();

 private:
  std::vector<Range> buckets_;
  std::vector<int64_t> missing_;  // elements of every bucket not ready yet
  std::vector<device::Event> events_;
};

}  // namespace strata::comm
