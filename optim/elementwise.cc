// Adam, MADGRAD, ACClip and SGD: the parts in which they differ.
#include "optim/elementwise.h"

#include <cmath>

#include "base/error.h"
#include "optim/adam.h"

namespace strata::optim {
namespace {

struct MadgradMethod {
  using Options = MadgradOptions;
  using Update = device::MadgradUpdate;
  static constexpr const char* kName = "MADGRAD";
  static constexpr const char* kState[] = {"madgrad_s", "madgrad_v", "madgrad_w0"};
  struct Step {
    float learning_rate = 0, gradient_weight = 0;
  };

  static void check(const char* name, const Options& options) {
    check_beta(name, "momentum", options.momentum);
    if (!(options.epsilon > 0)) {
      fail("{}'s epsilon is {}: it must be above 0", name, options.epsilon);
    }
    check_not_negative(name, "weight_decay", options.weight_decay);
  }
  static Step step(const Options&, int64_t step, double learning_rate) {
    const double weight = learning_rate * std::sqrt(static_cast<double>(step));
    return {static_cast<float>(learning_rate), static_cast<float>(weight)};
  }
  static Update update(const Options& options, const Step* step) {
    return {.gradient_weight = device::value_at(&step->gradient_weight),
            .averaging = static_cast<float>(1 - options.momentum),
            .epsilon = static_cast<float>(options.epsilon)};
  }
};

// Step values that consist only of the learning rate.
struct RateStep {
  float learning_rate = 0;
};

struct AcClipMethod {
  using Options = AcClipOptions;
  using Update = device::AcClipUpdate;
  static constexpr const char* kName = "ACClip";
  static constexpr const char* kState[] = {"acclip_m", "acclip_tau"};
  using Step = RateStep;

  static void check(const char* name, const Options& options) {
    AdamMethod::check(name, options);
    if (!(options.alpha >= 1 && options.alpha <= 2)) {
      fail("{}'s alpha is {}: it must be from 1 to 2", name, options.alpha);
    }
  }
  static Step step(const Options&, int64_t, double learning_rate) {
    return {static_cast<float>(learning_rate)};
  }
  static Update update(const Options& options, const Step*) {
    return {.alpha = static_cast<float>(options.alpha),
            .beta1 = static_cast<float>(options.beta1),
            .beta2 = static_cast<float>(options.beta2),
            .epsilon = static_cast<float>(options.epsilon)};
  }
};

struct SgdMethod {
  using Options = SgdOptions;
  using Update = device::SgdUpdate;
  static constexpr const char* kName = "SGD";
  static constexpr const char* kState[] = {"sgd_v"};
  using Step = RateStep;

  static void check(const char* name, const Options& options) {
    check_beta(name, "momentum", options.momentum);
    check_not_negative(name, "weight_decay", options.weight_decay);
  }
  static Step step(const Options&, int64_t, double learning_rate) {
    return {static_cast<float>(learning_rate)};
  }
  static Update update(const Options& options, const Step*) {
    return {.momentum = static_cast<float>(options.momentum)};
  }
};

template <typename Method>
std::unique_ptr<Optimizer> make(device::Backend& backend, const ParameterArena& arena,
                                std::span<const ParameterSegment> segments,
                                const typename Method::Options& options,
                                std::span<const Range> owned) {
  backend.require(device::operation_of<typename Method::Update>(), backend.master_dtype());
  return std::make_unique<ElementwiseOptimizer<Method>>(backend, arena, segments, options, owned);
}

}  // namespace

std::unique_ptr<Optimizer> make_adam(device::Backend& backend, const ParameterArena& arena,
                                     std::span<const ParameterSegment> segments,
                                     const AdamOptions& options, std::span<const Range> owned) {
  return make<AdamMethod>(backend, arena, segments, options, owned);
}

std::unique_ptr<Optimizer> make_madgrad(device::Backend& backend, const ParameterArena& arena,
                                        std::span<const ParameterSegment> segments,
                                        const MadgradOptions& options,
                                        std::span<const Range> owned) {
  return make<MadgradMethod>(backend, arena, segments, options, owned);
}

std::unique_ptr<Optimizer> make_acclip(device::Backend& backend, const ParameterArena& arena,
                                       std::span<const ParameterSegment> segments,
                                       const AcClipOptions& options, std::span<const Range> owned) {
  return make<AcClipMethod>(backend, arena, segments, options, owned);
}

std::unique_ptr<Optimizer> make_sgd(device::Backend& backend, const ParameterArena& arena,
                                    std::span<const ParameterSegment> segments,
                                    const SgdOptions& options, std::span<const Range> owned) {
  return make<SgdMethod>(backend, arena, segments, options, owned);
}

}  // namespace strata::optim
