// Gradients that share memory at different times of a step.
#pragma once

#include <span>
#include <vector>

#include "base/range.h"
#include "device/memory/arena.h"

namespace strata::comm {

// Tells which reductions must be done before backward may overwrite shared gradient memory. A step
// reduces all buckets in order, round after round; reductions are counted from its beginning.
class SharedBuffers {
 public:
  // `runs` belong to the gradient arena. Throws Error if a bucket does not lie in one run.
  SharedBuffers(std::span<const device::Arena::Run> runs, const std::vector<Range>& buckets);

  // Returns the last bucket of the run that contains `range`.
  int last_bucket(const Range& range) const;
  // Returns how many reductions must be done before gradients `range` are written in `round`.
  int reductions_before(const Range& range, int round) const;

 private:
  struct Part {
    Range range;   // elements of the arena
    Range memory;  // their positions in memory
    int last_bucket = 0;
  };
  size_t part_of(const Range& range) const;

  std::vector<Part> parts_;
  int buckets_;
};

}  // namespace strata::comm
