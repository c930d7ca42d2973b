// The optimizer, its learning-rate schedule and its loss scale.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "base/range.h"
#include "bert/model/model.h"
#include "comm/communicator.h"
#include "config/run_config.h"
#include "optim/loss_scale.h"
#include "optim/lr_schedule.h"
#include "optim/optimizer.h"

namespace strata::training {

// Makes the configured optimizer for an arena that is laid out like `layout`. See optim::make_adam
// for `owned`.
std::unique_ptr<optim::Optimizer> make_optimizer(const config::OptimizerConfig& config,
                                                 device::Backend& backend,
                                                 const bert::ParameterLayout& layout,
                                                 const optim::ParameterArena& arena,
                                                 std::span<const Range> owned = {});
// Makes the optimizer of `model`, with only this rank's shard of the state if `replicas` shard it.
std::unique_ptr<optim::Optimizer> make_optimizer(const config::RunConfig& config,
                                                 device::Backend& backend, const bert::Model& model,
                                                 const comm::Communicator& replicas);

// How many numbers the optimizer keeps for every weight.
int state_per_weight(config::OptimizerKind optimizer);

optim::LrScheduleOptions lr_schedule(const config::LrScheduleConfig& config,
                                     double base_learning_rate);

// Returns the loss scale of the first step; nullopt unless model.precision is fp16.
std::optional<optim::LossScale> make_loss_scale(const config::RunConfig& config);

}  // namespace strata::training
