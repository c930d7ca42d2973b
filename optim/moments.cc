#include "optim/moments.h"

namespace strata::optim {
namespace {

struct AdamStep {
  float learning_rate = 0;
  device::BiasCorrections corrections;
};

}  // namespace

Moments::Moments(device::Backend& backend, const ParameterArena& arena, const AdamOptions& options,
                 const char* optimizer, std::span<const Range> owned)
    : options_(options), state_(backend, arena, {"adam_m", "adam_v"}, owned, sizeof(AdamStep)) {
  check_beta(optimizer, "beta1", options.beta1);
  check_beta(optimizer, "beta2", options.beta2);
  check_not_negative(optimizer, "epsilon", options.epsilon);
  check_not_negative(optimizer, "weight_decay", options.weight_decay);
}

void Moments::begin_step(device::Stream stream, int64_t step, double learning_rate) {
  // The betas as the operations have them.
  const auto beta1 = static_cast<float>(options_.beta1), beta2 = static_cast<float>(options_.beta2);
  state_.begin_step(stream, AdamStep{static_cast<float>(learning_rate),
                                     device::bias_corrections(beta1, beta2, step)});
}

device::AdamUpdate Moments::adam_update(const Range& range, bool decay,
                                        const device::GradientClip& clip) const {
  return {.weights = elements_of(arena().weights, range),
          .compute_weights = elements_of(arena().compute_weights, range),
          .gradients = elements_of(arena().gradients, range),
          .first_moment = state_.elements(0, range),
          .second_moment = state_.elements(1, range),
          .learning_rate = learning_rate(),
          .corrections = device::value_at(&state_.step<AdamStep>()->corrections),
          .beta1 = static_cast<float>(options_.beta1),
          .beta2 = static_cast<float>(options_.beta2),
          .epsilon = static_cast<float>(options_.epsilon),
          .weight_decay = decay ? static_cast<float>(options_.weight_decay) : 0.0f,
          .clip = clip};
}

device::StepValue<float> Moments::learning_rate() const {
  return device::value_at(&state_.step<AdamStep>()->learning_rate);
}

}  // namespace strata::optim
