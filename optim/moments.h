// What the optimizers with two moments share: the arena, its segments, the moments, and Adam's
// update.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "device/backend.h"
#include "device/buffer.h"
#include "optim/optimizer.h"

namespace strata::optim {

// Throws Error unless `segments` cover [0, arena_size) without gaps, in rising order.
void check_segments(std::span<const Segment> segments, int64_t arena_size);

// Neighbours with the same decay as one, so that a pass over them is one operation: all of them, or
// those without decay alone.
enum class MergedSegments : uint8_t { kAll, kWithoutDecay };
std::vector<Segment> merged(std::span<const Segment> segments, MergedSegments which);

// visit(segment, part) for every one of the checked `segments` that has elements in `range`: `part`
// is those of them.
template <typename Segments, typename Visit>
void for_each_part(Segments& segments, const Range& range, const Visit& visit) {
  auto segment = std::upper_bound(segments.begin(), segments.end(), range.begin,
                                  [](int64_t offset, const Segment& candidate) {
                                    return offset < candidate.offset + candidate.size;
                                  });
  for (; segment != segments.end() && segment->offset < range.end; ++segment) {
    visit(*segment, Range{std::max(range.begin, segment->offset),
                          std::min(range.end, segment->offset + segment->size)});
  }
}

class Moments {
 public:
  // Of the `owned` ranges, rising; none: of the whole arena. Throws Error, naming the optimizer,
  // where the arena's tensors differ in size or an option is out of range.
  Moments(device::Backend& backend, const ParameterArena& arena, const AdamOptions& options,
          const char* optimizer, std::span<const Range> owned = {});

  void begin_step(device::Stream stream, int64_t step, double learning_rate);

  // Adam's update of the elements `range`, which decay or not. Throws Error where they are not in
  // one owned range, or no step has begun.
  device::AdamUpdate adam_update(const Range& range, bool decay,
                                 const device::GradientClip& clip) const;

  const ParameterArena& arena() const { return arena_; }
  device::StepValue<float> learning_rate() const;  // of the step
  std::vector<device::StateTensor> state() const;

 private:
  // What the operations of a step read when they run.
  struct StepValues {
    float learning_rate = 0;
    device::BiasCorrections corrections;
  };

  device::Backend& backend_;
  ParameterArena arena_;
  AdamOptions options_;
  device::Buffer first_, second_, step_values_;
  device::Arena first_moment_, second_moment_;
  bool step_begun_ = false;
};

}  // namespace strata::optim
