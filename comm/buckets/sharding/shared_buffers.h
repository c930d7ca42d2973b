// Gradients that share memory: where one lies, another lies later in the step.
#pragma once

#include <span>
#include <vector>

#include "base/range.h"
#include "device/memory/arena.h"

namespace strata::comm {

// Says what must be reduced before backward may write where other gradients lie. A step reduces
// all buckets in order, round after round: reductions are counted from its beginning.
class SharedBuffers {
 public:
  // `runs` of the gradients' arena. Throws Error if a bucket does not lie in one of them.
  SharedBuffers(std::span<const device::Arena::Run> runs, const std::vector<Range>& buckets);

  // The last bucket of the run that contains `range`.
  int last_bucket(const Range& range) const;
  // How many reductions must be done before gradients `range` are written in round `round`.
  int reductions_before(const Range& range, int round) const;

 private:
  struct Part {
    Range range;   // of the arena
    Range memory;  // where it lies
    int last_bucket = 0;
  };
  size_t part_of(const Range& range) const;

  std::vector<Part> parts_;
  int buckets_;
};

}  // namespace strata::comm
