#include "comm/buckets/sharding/shared_buffers.h"

#include "base/error.h"

namespace strata::comm {
namespace {

bool overlap(const Range& a, const Range& b) { return a.begin < b.end && b.begin < a.end; }

}  // namespace

SharedBuffers::SharedBuffers(std::span<const device::Arena::Run> runs,
                             const std::vector<Range>& buckets)
    : buckets_(static_cast<int>(buckets.size())) {
  for (const auto& [range, place] : runs) {
    parts_.push_back({range, {place, place + range.size()}, 0});
  }
  for (int bucket = 0; bucket < buckets_; ++bucket) {
    parts_[part_of(buckets[static_cast<size_t>(bucket)])].last_bucket = bucket;
  }
}

size_t SharedBuffers::part_of(const Range& range) const {
  for (size_t part = 0; part < parts_.size(); ++part) {
    if (parts_[part].range.begin <= range.begin && range.end <= parts_[part].range.end) return part;
  }
  fail("gradients [{}, {}) are not contiguous in memory", range.begin, range.end);
}

int SharedBuffers::last_bucket(const Range& range) const {
  return parts_[part_of(range)].last_bucket;
}

int SharedBuffers::reductions_before(const Range& range, int round) const {
  const size_t part = part_of(range);
  // Finds the previous user of this memory in this round, or else in the previous round.
  for (size_t before = part; before-- > 0;) {
    if (overlap(parts_[before].memory, parts_[part].memory)) {
      return round * buckets_ + parts_[before].last_bucket + 1;
    }
  }
  if (round == 0) return 0;  // the previous step is finished
  for (size_t before = parts_.size(); before-- > part;) {
    if (overlap(parts_[before].memory, parts_[part].memory)) {
      return (round - 1) * buckets_ + parts_[before].last_bucket + 1;
    }
  }
  return 0;
}

}  // namespace strata::comm
