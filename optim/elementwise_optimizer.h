// Optimizers that update every element by itself: one operation for neighbours that decay alike.
#pragma once

#include <span>
#include <vector>

#include "optim/segments.h"

namespace strata::optim {

class ElementwiseOptimizer : public Optimizer {
 public:
  void update(device::Stream stream, const Range& range, const device::GradientClip& clip) final {
    for_each_part(segments_, range, [&](const Segment& segment, const Range& part) {
      update_part(stream, part, segment.decay, clip);
    });
  }

 protected:
  // Throws Error unless `segments` cover [0, arena_size).
  ElementwiseOptimizer(std::span<const Segment> segments, int64_t arena_size)
      : segments_(merged(segments, MergedSegments::kAll)) {
    check_segments(segments, arena_size);
  }

 private:
  virtual void update_part(device::Stream stream, const Range& part, bool decay,
                           const device::GradientClip& clip) = 0;

  std::vector<Segment> segments_;
};

}  // namespace strata::optim
