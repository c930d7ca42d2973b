#include "comm/buckets/memory_turns.h"

#include "base/error.h"

namespace strata::comm {
namespace {

bool overlap(const Range& a, const Range& b) { return a.begin < b.end && b.begin < a.end; }

}  // namespace

MemoryTurns::MemoryTurns(const device::Arena& gradients, const std::vector<Range>& buckets)
    : buckets_(static_cast<int>(buckets.size())) {
  for (const auto& [range, place] : gradients.runs()) {
    turns_.push_back({range, {place, place + range.size()}, 0});
  }
  for (int bucket = 0; bucket < buckets_; ++bucket) {
    turns_[turn_of(buckets[static_cast<size_t>(bucket)])].last_bucket = bucket;
  }
}

size_t MemoryTurns::turn_of(const Range& range) const {
  for (size_t turn = 0; turn < turns_.size(); ++turn) {
    if (turns_[turn].range.begin <= range.begin && range.end <= turns_[turn].range.end) return turn;
  }
  fail("gradients [{}, {}) do not lie together in memory", range.begin, range.end);
}

int MemoryTurns::last_bucket(const Range& range) const {
  return turns_[turn_of(range)].last_bucket;
}

int MemoryTurns::reductions_before(const Range& range, int round) const {
  const size_t turn = turn_of(range);
  // The one before it in this round, or the last one of the round before.
  for (size_t before = turn; before-- > 0;) {
    if (overlap(turns_[before].memory, turns_[turn].memory)) {
      return round * buckets_ + turns_[before].last_bucket + 1;
    }
  }
  if (round == 0) return 0;  // of the step before
  for (size_t before = turns_.size(); before-- > turn;) {
    if (overlap(turns_[before].memory, turns_[turn].memory)) {
      return (round - 1) * buckets_ + turns_[before].last_bucket + 1;
    }
  }
  return 0;
}

}  // namespace strata::comm
