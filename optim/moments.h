// What Adam and LAMB share: both moments, and Adam's update.
#pragma once

#include <span>
#include <vector>

#include "optim/update_state.h"

namespace strata::optim {

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

  const ParameterArena& arena() const { return state_.arena(); }
  device::StepValue<float> learning_rate() const;  // of the step
  std::vector<device::StateTensor> state() const { return state_.tensors(); }

 private:
  AdamOptions options_;
  UpdateState state_;
};

}  // namespace strata::optim
