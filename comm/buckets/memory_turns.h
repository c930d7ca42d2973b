// Gradients that have the same memory by turns.
#pragma once

#include <vector>

#include "base/range.h"
#include "device/arena.h"

namespace strata::comm {

// What must be reduced before backward may write where others lie. A step reduces all buckets in
// order, round after round: reductions are counted from its beginning.
class MemoryTurns {
 public:
  // Throws Error where a bucket does not lie in one of the runs of `gradients`.
  MemoryTurns(const device::Arena& gradients, const std::vector<Range>& buckets);

  // The last bucket of the run that `range` lies in.
  int last_bucket(const Range& range) const;
  // How many reductions must be through before gradients `range` are written in round `round`.
  int reductions_before(const Range& range, int round) const;

 private:
  struct Turn {
    Range range;   // of the arena
    Range memory;  // where it lies
    int last_bucket = 0;
  };
  size_t turn_of(const Range& range) const;

  std::vector<Turn> turns_;
  int buckets_;
};

}  // namespace strata::comm
