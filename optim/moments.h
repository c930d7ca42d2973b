// What the optimizers with two moments share: the arena, its segments, the moments, and Adam's
// update.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "device/backend.h"
#include "optim/optimizer.h"

namespace strata::optim {

// Throws Error unless `segments` cover [0, arena_size) without gaps, in rising order.
void check_segments(std::span<const Segment> segments, int64_t arena_size);

// Neighbours with the same decay as one, so that a pass over them is one operation: all of them, or
// those without decay alone.
enum class MergedSegments : uint8_t { kAll, kWithoutDecay };
std::vector<Segment> merged(std::span<const Segment> segments, MergedSegments which);

// visit(segment, begin, end) for every one of the checked `segments` that has elements in
// [begin, end), with the part of it that is in there.
template <typename Segments, typename Visit>
void for_each_part(Segments& segments, int64_t begin, int64_t end, const Visit& visit) {
  auto segment = std::upper_bound(segments.begin(), segments.end(), begin,
                                  [](int64_t offset, const Segment& candidate) {
                                    return offset < candidate.offset + candidate.size;
                                  });
  for (; segment != segments.end() && segment->offset < end; ++segment) {
    visit(*segment, std::max(begin, segment->offset),
          std::min(end, segment->offset + segment->size));
  }
}

// Elements [begin, end) of an arena; absent where it is.
device::Tensor slice(const device::Tensor& arena, int64_t begin, int64_t end);

class Moments {
 public:
  // Of the `owned` ranges, rising; none: of the whole arena. Throws Error, naming the optimizer,
  // where the arena's tensors differ in size or an option is out of range.
  Moments(device::Backend& backend, const ParameterArena& arena, const AdamOptions& options,
          const char* optimizer, std::span<const Range> owned = {});

  void begin_step(device::Stream stream, int64_t step, double learning_rate);

  // Adam's update of elements [begin, end), which decay or not. Throws Error where they are not in
  // one owned range, or no step has begun.
  device::AdamUpdate adam_update(int64_t begin, int64_t end, bool decay,
                                 const UpdateOptions& options) const;

  const ParameterArena& arena() const { return arena_; }
  device::StepValue<float> learning_rate() const;  // of the step
  std::vector<OptimizerState> state() const;

 private:
  // A range and where in the moments it begins.
  struct Owned {
    Range range;
    int64_t offset = 0;
  };

  int64_t size() const { return owned_.back().offset + width(owned_.back().range); }
  static int64_t width(const Range& range) { return range.end - range.begin; }
  int64_t place_of(int64_t begin, int64_t end) const;
  device::Tensor moment(const device::Buffer& buffer) const;

  // What the operations of a step read when they run.
  struct StepValues {
    float learning_rate = 0;
    device::BiasCorrections corrections;
  };

  device::Backend& backend_;
  ParameterArena arena_;
  AdamOptions options_;
  std::vector<Owned> owned_;
  device::Buffer first_, second_, step_values_;
  bool step_begun_ = false;
};

}  // namespace strata::optim
