#include "training/factories/schedule.h"

#include "bert/parameters/parameters.h"
#include "comm/buckets/sharding/gather_groups.h"
#include "training/factories/buckets.h"
#include "training/factories/sharding.h"
#include "training/schedules/gathers.h"
#include "training/schedules/layer_order.h"
#include "training/schedules/micro_batch_order.h"
#include "training/schedules/ouroboros.h"
#include "training/schedules/pipeline.h"

namespace strata::training {
namespace {

// The order of forward and backward, without tasks that gather weights.
Schedule order_of(const config::RunConfig& config, int blocks, int ranks,
                  const bert::Stage& stage) {
  const config::BatchConfig& batch = config.batch;
  const int micro_batches = batch.gradient_accumulation_steps;
  const bool recompute = batch.activations == config::ActivationPolicy::kRecompute;
  if (stage.pipeline == bert::Pipeline::kRing) return undelayed(stage, blocks);
  if (stage.count > 1) return pipeline(stage, blocks, micro_batches, recompute);
  if (batch.accumulation_order == config::AccumulationOrder::kLayer) {
    return layer_order(blocks, micro_batches, recompute);
  }
  return shards_gradients(config, ranks) ? micro_batch_rounds(blocks, micro_batches, recompute)
                                         : micro_batch_order(blocks, micro_batches, recompute);
}

}  // namespace

bert::Stage stage_of_rank(const config::RunConfig& config, int rank) {
  const int stages = config::ranks_of_replica(config);
  if (config.ouroboros.modules > 1) return {rank % stages, stages, bert::Pipeline::kRing};
  if (stages == 1) return {};
  return {rank % stages, stages, config.parallel.pipeline};
}

Schedule make_schedule(const config::RunConfig& config, const bert::BertConfig& model, int ranks,
                       const bert::Stage& stage) {
  const Schedule schedule = order_of(config, static_cast<int>(model.layers) + 2, ranks, stage);
  if (!shards_weights(config, ranks)) return schedule;
  const bert::ParameterLayout layout(model);
  const auto gather_groups =
      comm::make_gather_groups(layout.boundaries, gradient_buckets(config, layout));
  return with_gathers(schedule, gather_groups_of_blocks(layout, gather_groups));
}

std::optional<DelayedWork> make_delayed_work(const config::RunConfig& config,
                                             const bert::BertConfig& model,
                                             const bert::Stage& stage) {
  if (stage.pipeline != bert::Pipeline::kRing) return std::nullopt;
  return DelayedWork{.schedule = ouroboros(stage, static_cast<int>(model.layers) + 2),
                     .after_steps = config.ouroboros.warmup_steps,
                     .averages_tied = config.ouroboros.tied == config::TiedGradient::kAverage};
}

StepPlan step_plan(const config::RunConfig& config, const bert::BertConfig& model, int ranks,
                   const bert::Stage& stage) {
  auto delayed = make_delayed_work(config, model, stage);
  if (delayed && delayed->after_steps == config::kNeverDelayed) delayed.reset();
  return make_step_plan(delayed ? delayed->schedule : make_schedule(config, model, ranks, stage),
                        bert::ParameterLayout(model, stage), config.reduce.split_tied_embedding,
                        config.reduce.half_layers, shards_gradients(config, ranks));
}

}  // namespace strata::training
