// Optimizers that update every element independently: one operation per run of neighbours with the
// same weight decay.
#pragma once

#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "optim/segments.h"
#include "optim/update_state.h"

namespace strata::optim {

// The state of an optimizer and its operation over a range. A Method defines:
//   Options, Update        its options, and the arguments of its operation
//                          (device/operations/update_rules.h)
//   kName, kState          its name in errors, and the names of its state in checkpoints;
//                          if the update reads the weights before the first step, they come last
//   Step                   the values of a step, including learning_rate
//   check(name, options)   throws Error if an option is out of range
//   step(options, step, learning_rate)  the values of step `step`, from 1
//   update(options, step)  the fields of the operation that no other optimizer has; `step` lies in
//                          device memory
template <typename Method>
class ElementwiseState {
 public:
  using Options = typename Method::Options;
  using Update = typename Method::Update;
  using Step = typename Method::Step;

  // `owned`: see make_adam. Throws Error naming the optimizer if the arena's tensors differ in size
  // or an option is out of range.
  ElementwiseState(device::Backend& backend, const ParameterArena& arena, const Options& options,
                   std::span<const Range> owned, const char* name = Method::kName)
      : options_(options), state_(backend, arena, Method::kState, owned, sizeof(Step)) {
    Method::check(name, options);
  }

  void begin_step(device::Stream stream, int64_t step, double learning_rate) {
    const Step values = Method::step(options_, step, learning_rate);
    state_.begin_step(stream, &values);
    if (step > 1) return;
    // Clears traces of steps that were tried before the first one, because weight decay may have
    // changed the state.
    for (const device::StateTensor& each : state_.tensors()) {
      state_.backend().fill_zero(stream, each.tensor.data, each.tensor.bytes());
    }
    if constexpr (device::kReadsInitialWeights<Update>) {
      // Copies all weights at once, because some may not be updated before a later step.
      for (const Range& range : state_.owned()) {
        state_.backend().convert(stream, {.source = elements_of(arena().weights, range),
                                          .destination = state_.elements(kStates, range)});
      }
    }
  }

  // Returns the update of the elements `range`, with or without weight decay. Throws Error if they
  // do not lie in one owned range, or no step has begun.
  Update update(const Range& range, bool decay, const device::GradientClip& clip) const {
    Update op = Method::update(options_, state_.step<Step>());
    op.weights = elements_of(arena().weights, range);
    op.compute_weights = elements_of(arena().compute_weights, range);
    op.gradients = elements_of(arena().gradients, range);
    for (size_t i = 0; i < kStates; ++i) op.*Update::kState[i] = state_.elements(i, range);
    if constexpr (device::kReadsInitialWeights<Update>) {
      op.initial_weights = state_.elements(kStates, range);
    }
    op.learning_rate = learning_rate();
    op.weight_decay = decay ? static_cast<float>(options_.weight_decay) : 0.0f;
    op.clip = clip;
    return op;
  }

  device::Backend& backend() const { return state_.backend(); }
  const ParameterArena& arena() const { return state_.arena(); }
  device::StepValue<float> learning_rate() const {
    return device::value_at(&state_.step<Step>()->learning_rate);
  }
  std::vector<device::StateTensor> tensors() const { return state_.tensors(); }

 private:
  static constexpr size_t kStates = std::size(Update::kState);

  Options options_;
  UpdateState state_;
};

template <typename Method>
class ElementwiseOptimizer final : public Optimizer {
 public:
  // Throws Error unless `segments` cover the arena.
  ElementwiseOptimizer(device::Backend& backend, const ParameterArena& arena,
                       std::span<const ParameterSegment> segments,
                       const typename Method::Options& options, std::span<const Range> owned)
      : segments_(merged(segments, MergedSegments::kAll)), state_(backend, arena, options, owned) {
    check_segments(segments, arena.weights.size());
  }

  void begin_step(device::Stream stream, int64_t step, double learning_rate) override {
    state_.begin_step(stream, step, learning_rate);
  }
  void update(device::Stream stream, const Range& range,
              const device::GradientClip& clip) override {
    for_each_part(segments_, range, [&](const ParameterSegment& segment, const Range& part) {
      issue(state_.backend(), stream, state_.update(part, segment.decay, clip));
    });
  }
  std::vector<device::StateTensor> state() override { return state_.tensors(); }

 private:
  std::vector<ParameterSegment> segments_;
  ElementwiseState<Method> state_;
};

}  // namespace strata::optim
