#include "base/error.h"
#include "optim/elementwise_optimizer.h"
#include "optim/update_state.h"

namespace strata::optim {
namespace {

struct AcClipStep {
  float learning_rate = 0;
};

enum : size_t { kFirstMoment, kThresholdPower };

class AcClip final : public ElementwiseOptimizer {
 public:
  AcClip(device::Backend& backend, const ParameterArena& arena, std::span<const Segment> segments,
         const AcClipOptions& options, std::span<const Range> owned)
      : ElementwiseOptimizer(segments, arena.weights.size()),
        backend_(backend),
        options_(options),
        state_(backend, arena, {"acclip_m", "acclip_tau"}, owned, sizeof(AcClipStep)) {
    check_beta("ACClip", "beta1", options.beta1);
    check_beta("ACClip", "beta2", options.beta2);
    if (!(options.alpha >= 1 && options.alpha <= 2)) {
      fail("ACClip's alpha is {}: it must be from 1 to 2", options.alpha);
    }
    check_not_negative("ACClip", "epsilon", options.epsilon);
    check_not_negative("ACClip", "weight_decay", options.weight_decay);
  }

  void begin_step(device::Stream stream, int64_t, double learning_rate) override {
    state_.begin_step(stream, AcClipStep{static_cast<float>(learning_rate)});
  }
  std::vector<device::StateTensor> state() override { return state_.tensors(); }

 private:
  void update_part(device::Stream stream, const Range& part, bool decay,
                   const device::GradientClip& clip) override {
    const ParameterArena& arena = state_.arena();
    backend_.acclip_update(
        stream, {.weights = elements_of(arena.weights, part),
                 .compute_weights = elements_of(arena.compute_weights, part),
                 .gradients = elements_of(arena.gradients, part),
                 .first_moment = state_.elements(kFirstMoment, part),
                 .threshold_power = state_.elements(kThresholdPower, part),
                 .learning_rate = device::value_at(&state_.step<AcClipStep>()->learning_rate),
                 .alpha = static_cast<float>(options_.alpha),
                 .beta1 = static_cast<float>(options_.beta1),
                 .beta2 = static_cast<float>(options_.beta2),
                 .epsilon = static_cast<float>(options_.epsilon),
                 .weight_decay = decay ? static_cast<float>(options_.weight_decay) : 0.0f,
                 .clip = clip});
  }

  device::Backend& backend_;
  AcClipOptions options_;
  UpdateState state_;
};

}  // namespace

std::unique_ptr<Optimizer> make_acclip(device::Backend& backend, const ParameterArena& arena,
                                       std::span<const Segment> segments,
                                       const AcClipOptions& options, std::span<const Range> owned) {
  return std::make_unique<AcClip>(backend, arena, segments, options, owned);
}

}  // namespace strata::optim
