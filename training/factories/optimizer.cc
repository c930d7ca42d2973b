#include "training/factories/optimizer.h"

#include <vector>

#include "training/factories/buckets.h"
#include "training/factories/sharding.h"

namespace strata::training {

std::unique_ptr<optim::Optimizer> make_optimizer(const config::OptimizerConfig& config,
                                                 device::Backend& backend,
                                                 const bert::ParameterLayout& layout,
                                                 const optim::ParameterArena& arena,
                                                 std::span<const Range> owned) {
  std::vector<optim::ParameterSegment> segments;
  for (const bert::ParameterSegment& segment : layout.segments()) {
    segments.push_back({segment.offset, segment.size, segment.decay});
  }
  const optim::AdamOptions options{config.beta1, config.beta2, config.epsilon, config.weight_decay};
  switch (config.name) {
    case config::OptimizerKind::kAdam:
      break;
    case config::OptimizerKind::kLamb:
      return optim::make_lamb(backend, arena, segments, options, owned);
    case config::OptimizerKind::kMadgrad:
      return optim::make_madgrad(backend, arena, segments,
                                 {config.beta1, config.epsilon, config.weight_decay}, owned);
    case config::OptimizerKind::kAcClip:
      return optim::make_acclip(backend, arena, segments, {options, config.alpha}, owned);
    case config::OptimizerKind::kSgd:
      return optim::make_sgd(backend, arena, segments, {config.beta1, config.weight_decay}, owned);
  }
  return optim::make_adam(backend, arena, segments, options, owned);
}

std::unique_ptr<optim::Optimizer> make_optimizer(const config::RunConfig& config,
                                                 device::Backend& backend, const bert::Model& model,
                                                 const comm::Communicator& replicas) {
  const bert::ParameterStore& parameters = model.parameters();
  optim::ParameterArena arena{parameters.master_weights(), {}, parameters.gradient_sums()};
  if (backend.compute_dtype() != backend.master_dtype()) {
    arena.compute_weights = parameters.compute_weights();
  }
  std::vector<Range> owned;
  if (shards_state(config, replicas.size())) {
    owned = local_shards(gradient_buckets(config, model.layout()), replicas);
  }
  return make_optimizer(config.optimizer, backend, model.layout(), arena, owned);
}

int state_per_weight(config::OptimizerKind optimizer) {
  if (optimizer == config::OptimizerKind::kSgd) return 1;
  return optimizer == config::OptimizerKind::kMadgrad ? 3 : 2;
}

optim::LrScheduleOptions lr_schedule(const config::LrScheduleConfig& config,
                                     double base_learning_rate) {
  return {.schedule = config.name,
          .base_learning_rate = base_learning_rate,
          .end_learning_rate = config.end_lr,
          .start_warmup_step = config.start_warmup_step,
          .warmup_steps = config.warmup_steps,
          .total_steps = config.training_steps,
          .power = config.power};
}

std::optional<optim::LossScale> make_loss_scale(const config::RunConfig& config) {
  if (config.model.precision != config::Precision::kFp16) return std::nullopt;
  return optim::LossScale{.scale = static_cast<float>(config.loss_scale.initial)};
}

}  // namespace strata::training
