// A run configuration in the terms of the libraries below, and the parts of a step made from it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bert/model/model.h"
#include "comm/buckets/gradient_buckets.h"
#include "comm/buckets/sharding/weight_gatherer.h"
#include "config/run_config.h"
#include "device/graph_cache.h"
#include "loadbalance/plans/batch_plan.h"
#include "optim/loss_scale.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "training/checkpoint/training_state.h"
#include "training/schedules/schedule.h"
#include "training/schedules/step_list.h"
#include "training/step/step_work.h"

namespace strata::training {

// The stage that a rank has of the pipeline.
bert::Stage stage_of_rank(const config::RunConfig& config, int rank);

// batch.round_tokens, model.precision, and as many micro-batches in flight as the order of work
// has. Throws Error where they do not suit the model.
bert::ModelOptions model_options(const config::RunConfig& config, const bert::BertConfig& model);
// The same on one of several ranks: of its stage, and where parameters are sharded, with its
// shards.
bert::ModelOptions model_options(const config::RunConfig& config, const bert::BertConfig& model,
                                 const comm::Communicator& communicator);

// The order of work of a step on so many ranks, of a stage of the model.
Schedule make_schedule(const config::RunConfig& config, const bert::BertConfig& model,
                       int ranks = 1, const bert::Stage& stage = {});
// What a step goes over to after `ouroboros.warmup_steps`, if there are modules.
std::optional<DelayedWork> make_delayed_work(const config::RunConfig& config,
                                             const bert::BertConfig& model,
                                             const bert::Stage& stage);
// Null where all weights of `model` are in memory. All ranks construct together.
std::unique_ptr<comm::WeightGatherer> make_weight_gatherer(const config::RunConfig& config,
                                                           device::Backend& backend,
                                                           comm::Communicator& communicator,
                                                           const bert::Model& model);

loadbalance::PlanOptions plan_options(const config::RunConfig& config, int ranks, uint64_t seed);

// Throws Error where a run whose samples were dealt as `plan` says had other global batches.
void check_global_batch(const config::RunConfig& config, int ranks, const PlanShape& plan);

optim::ScheduleOptions schedule_options(const config::ScheduleConfig& config,
                                        double base_learning_rate);

// What a run with model.precision fp16 begins with; absent: the loss is not scaled.
std::optional<optim::LossScale> make_loss_scale(const config::RunConfig& config);

// Whether the ranks that reduce gradients shard the optimizer's state.
bool is_sharded(const config::RunConfig& config, const comm::Communicator& replicas);

comm::BucketOptions bucket_options(const config::RunConfig& config);
// The same with the weights of `model` to gather where the configuration shards the state, and the
// ranks that have the other stages, if there are any.
comm::BucketOptions bucket_options(const config::RunConfig& config, const bert::Model& model,
                                   comm::Communicator* stages = nullptr);

// The buckets of the gradients of a model laid out like this, in the order of their reduction.
std::vector<Range> gradient_buckets(const config::RunConfig& config,
                                    const bert::ParameterLayout& layout);

// What the buckets of a rank that reduces with `ranks - 1` others add to its steps; `layout`: of
// its stage of the model. Makes no buckets.
comm::BucketPlan bucket_plan(const config::RunConfig& config, const bert::ParameterLayout& layout,
                             int ranks, const bert::Stage& stage);
// The plan of a step of such a rank, from the schedule that it goes over to in the end.
StepPlan step_plan(const config::RunConfig& config, const bert::BertConfig& model, int ranks,
                   const bert::Stage& stage);

// Where device.graphs asks for them, else null.
std::unique_ptr<device::GraphCache> make_graph_cache(const config::RunConfig& config,
                                                     device::Backend& backend);

// Numbers of the optimizer's state for every weight.
int state_per_weight(config::OptimizerKind optimizer);

// The configured optimizer of an arena laid out as `layout` says. `owned`: see optim::make_adam.
std::unique_ptr<optim::Optimizer> make_optimizer(const config::OptimizerConfig& config,
                                                 device::Backend& backend,
                                                 const bert::ParameterLayout& layout,
                                                 const optim::ParameterArena& arena,
                                                 std::span<const Range> owned = {});
// The same of this rank's shard of `model`'s state, where the configuration shards it.
std::unique_ptr<optim::Optimizer> make_optimizer(const config::RunConfig& config,
                                                 device::Backend& backend, const bert::Model& model,
                                                 const comm::Communicator& replicas);

// Buckets of `model`'s gradients that `optimizer` updates; both outlive them. Where the options
// gather weights, LAMB must have been made for this rank's shard; Adam may have the whole state.
// `frozen`: rising elements of the arena that are not updated, read at every update; null: none.
std::unique_ptr<comm::GradientBuckets> make_gradient_buckets(
    device::Backend& backend, comm::Communicator& communicator, const bert::Model& model,
    const comm::BucketOptions& options, optim::Optimizer& optimizer,
    const std::vector<Range>* frozen = nullptr);

}  // namespace strata::training
