#include <cmath>

#include "base/error.h"
#include "optim/elementwise_optimizer.h"
#include "optim/update_state.h"

namespace strata::optim {
namespace {

struct MadgradStep {
  float learning_rate = 0, gradient_weight = 0;
};

enum : size_t { kGradientSum, kSquareSum, kInitialWeights };

class Madgrad final : public ElementwiseOptimizer {
 public:
  Madgrad(device::Backend& backend, const ParameterArena& arena, std::span<const Segment> segments,
          const MadgradOptions& options, std::span<const Range> owned)
      : ElementwiseOptimizer(segments, arena.weights.size()),
        backend_(backend),
        options_(options),
        state_(backend, arena, {"madgrad_s", "madgrad_v", "madgrad_w0"}, owned,
               sizeof(MadgradStep)) {
    check_beta("MADGRAD", "momentum", options.momentum);
    if (!(options.epsilon > 0)) {
      fail("MADGRAD's epsilon is {}: it must be above 0", options.epsilon);
    }
    check_not_negative("MADGRAD", "weight_decay", options.weight_decay);
  }

  void begin_step(device::Stream stream, int64_t step, double learning_rate) override {
    const double weight = learning_rate * std::sqrt(static_cast<double>(step));
    state_.begin_step(stream,
                      MadgradStep{static_cast<float>(learning_rate), static_cast<float>(weight)});
    if (step > 1) return;
    // All at once: a part of the weights may not be updated before a later step.
    for (const Range& range : state_.owned()) {
      backend_.convert(stream, {.source = elements_of(state_.arena().weights, range),
                                .destination = state_.elements(kInitialWeights, range)});
    }
  }
  std::vector<device::StateTensor> state() override { return state_.tensors(); }

 private:
  void update_part(device::Stream stream, const Range& part, bool decay,
                   const device::GradientClip& clip) override {
    const ParameterArena& arena = state_.arena();
    const auto* step = state_.step<MadgradStep>();
    backend_.madgrad_update(
        stream, {.weights = elements_of(arena.weights, part),
                 .compute_weights = elements_of(arena.compute_weights, part),
                 .gradients = elements_of(arena.gradients, part),
                 .gradient_sum = state_.elements(kGradientSum, part),
                 .square_sum = state_.elements(kSquareSum, part),
                 .initial_weights = state_.elements(kInitialWeights, part),
                 .learning_rate = device::value_at(&step->learning_rate),
                 .gradient_weight = device::value_at(&step->gradient_weight),
                 .averaging = static_cast<float>(1 - options_.momentum),
                 .epsilon = static_cast<float>(options_.epsilon),
                 .weight_decay = decay ? static_cast<float>(options_.weight_decay) : 0.0f,
                 .clip = clip});
  }

  device::Backend& backend_;
  MadgradOptions options_;
  UpdateState state_;
};

}  // namespace

std::unique_ptr<Optimizer> make_madgrad(device::Backend& backend, const ParameterArena& arena,
                                        std::span<const Segment> segments,
                                        const MadgradOptions& options,
                                        std::span<const Range> owned) {
  return std::make_unique<Madgrad>(backend, arena, segments, options, owned);
}

}  // namespace strata::optim
