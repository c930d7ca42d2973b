#include "training/options.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/text/counts.h"
#include "comm/buckets/sharding/units.h"
#include "training/schedules/gathers.h"
#include "training/schedules/layer_order.h"
#include "training/schedules/micro_batch_order.h"
#include "training/schedules/ouroboros.h"
#include "training/schedules/pipeline.h"

namespace strata::training {
namespace {

// What this rank updates where ranks shard the state.
std::vector<Range> local_shards(const std::vector<Range>& buckets,
                                const comm::Communicator& replicas) {
  std::vector<Range> shards;
  for (const Range& bucket : buckets) shards.push_back(comm::local_shard(bucket, replicas));
  return shards;
}

// Whether ranks keep only shards of gradients, too.
bool shards_gradients(const config::RunConfig& config, int ranks) {
  return config.optimizer.sharded >= config::Sharding::kGradients && ranks > 1;
}

// Whether they keep only shards of weights.
bool shards_weights(const config::RunConfig& config, int ranks) {
  return config.optimizer.sharded == config::Sharding::kAll && ranks > 1;
}

// How often a step reduces gradients that are sharded.
int rounds_of_reduction(const config::RunConfig& config) {
  const bool once = config.batch.accumulation_order == config::AccumulationOrder::kLayer;
  return once ? 1 : config.batch.gradient_accumulation_steps;
}

// Where backward may pause.
std::vector<int64_t> model_boundaries(const config::RunConfig& config,
                                      const bert::ParameterLayout& layout) {
  return config.reduce.half_layers ? layout.boundaries_with_halves() : layout.boundaries;
}

std::vector<Range> units_of(const config::RunConfig& config, const bert::ParameterLayout& layout) {
  return comm::make_units(layout.boundaries, gradient_buckets(config, layout));
}

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

bert::WordGradient word_gradient(const config::RunConfig& config, const Schedule& schedule) {
  if (config.reduce.early_words) return bert::WordGradient::kSplitForGood;
  return schedule.micro_batches > schedule.rounds ? bert::WordGradient::kSplit
                                                  : bert::WordGradient::kTogether;
}

bert::ModelOptions options_of_ranks(const config::RunConfig& config, const bert::BertConfig& model,
                                    int ranks, const bert::Stage& stage) {
  const Schedule schedule = order_of(config, static_cast<int>(model.layers) + 2, ranks, stage);
  bert::ModelOptions options{.float8 = config.model.precision == config::Precision::kFp8,
                             .in_flight = schedule.in_flight,
                             .recompute = schedule.recomputes,
                             .word_gradient = word_gradient(config, schedule),
                             .half_layers = config.reduce.half_layers,
                             .stage = stage};
  options.layer_drop = {.theta = config.layer_drop.theta,
                        .gamma = config.layer_drop.gamma.value_or(
                            100.0 / static_cast<double>(config.schedule.training_steps))};
  options.standardization = config.standardization;
  if (const auto delayed = make_delayed_work(config, model, stage)) {
    options.in_flight = delayed->schedule.in_flight;
    options.delays = delayed->schedule.delays;
  }
  if (const int64_t tokens = config.batch.round_tokens; tokens > 1) {
    options.rounding = {.tokens = std::min(tokens, model.max_positions),
                        .masked = std::max<int64_t>(tokens / 4, 1),
                        .max_length = model.max_positions};
    const device::BackendKind& backend = *config.device.backend;
    if (options.float8 && options.rounding.tokens % backend.float8_tokens != 0) {
      fail(
          "model.precision fp8 on {} needs batches of a multiple of {}, which no padding of a "
          "model "
          "of {} gives; use bf16",
          backend.name, counted(backend.float8_tokens, "token"),
          counted(model.max_positions, "position"));
    }
  }
  return options;
}

device::DType reduce_dtype(config::ReduceDType dtype) {
  switch (dtype) {
    case config::ReduceDType::kBf16:
      return device::DType::kBF16;
    case config::ReduceDType::kFp16:
      return device::DType::kF16;
    case config::ReduceDType::kFp32:
      break;
  }
  return device::DType::kF32;
}

comm::Accumulation accumulation(const config::ReduceConfig& config) {
  using Kind = config::ReduceAccumulation;
  return {.in_bf16 = config.accumulate != Kind::kFp32,
          .chunk = config.accumulate == Kind::kBf16Chunked ? config.chunk : 0};
}

}  // namespace

bert::Stage stage_of_rank(const config::RunConfig& config, int rank) {
  const int stages = config::ranks_of_replica(config);
  if (config.ouroboros.modules > 1) return {rank % stages, stages, bert::Pipeline::kRing};
  if (stages == 1) return {};
  return {rank % stages, stages, config.parallel.pipeline};
}

bert::ModelOptions model_options(const config::RunConfig& config, const bert::BertConfig& model) {
  return options_of_ranks(config, model, 1, {});
}

bert::ModelOptions model_options(const config::RunConfig& config, const bert::BertConfig& model,
                                 const comm::Communicator& communicator) {
  const bert::Stage stage = stage_of_rank(config, communicator.rank());
  bert::ModelOptions options = options_of_ranks(config, model, communicator.size(), stage);
  if (!shards_gradients(config, communicator.size())) return options;
  const bert::ParameterLayout layout(model);
  comm::UnitMemory memory = comm::place_units(units_of(config, layout));
  options.sharding = {.shards = local_shards(gradient_buckets(config, layout), communicator),
                      .units = std::move(memory.runs),
                      .unit_elements = memory.elements,
                      .weights = shards_weights(config, communicator.size())};
  return options;
}

Schedule make_schedule(const config::RunConfig& config, const bert::BertConfig& model, int ranks,
                       const bert::Stage& stage) {
  const Schedule schedule = order_of(config, static_cast<int>(model.layers) + 2, ranks, stage);
  if (!shards_weights(config, ranks)) return schedule;
  const bert::ParameterLayout layout(model);
  return with_gathers(schedule, units_of_blocks(layout, units_of(config, layout)));
}

std::optional<DelayedWork> make_delayed_work(const config::RunConfig& config,
                                             const bert::BertConfig& model,
                                             const bert::Stage& stage) {
  if (stage.pipeline != bert::Pipeline::kRing) return std::nullopt;
  return DelayedWork{.schedule = ouroboros(stage, static_cast<int>(model.layers) + 2),
                     .after_steps = config.ouroboros.warmup_steps,
                     .averages_tied = config.ouroboros.tied == config::TiedGradient::kAverage};
}

std::unique_ptr<comm::WeightGatherer> make_weight_gatherer(const config::RunConfig& config,
                                                           device::Backend& backend,
                                                           comm::Communicator& communicator,
                                                           const bert::Model& model) {
  const bert::ParameterStore& parameters = model.parameters();
  if (!parameters.shards_weights()) return nullptr;
  return comm::make_weight_gatherer(
      backend, communicator, parameters.compute_weights(), parameters.read_weights(),
      gradient_buckets(config, model.layout()), config.reduce.nccl_max_ctas.value_or(0));
}

loadbalance::PlanOptions plan_options(const config::RunConfig& config, int ranks, uint64_t seed) {
  const config::LoadBalanceConfig& balance = config.batch.load_balance;
  return {.strategy = name_of(balance.strategy),
          .ranks = ranks / config::ranks_of_replica(config),
          .batch_per_rank = config.batch.micro_batch * config.batch.gradient_accumulation_steps,
          .micro_batches = config.batch.gradient_accumulation_steps,
          .seed = seed,
          .strata_bounds = balance.strata,
          .group_ranks = balance.group_ranks.value_or(0),
          .cost = balance.cost};
}

void check_global_batch(const config::RunConfig& config, int ranks, const PlanShape& plan) {
  const int64_t global_batch = config::global_batch_size(config, ranks);
  if (plan.global_batch() == global_batch) return;
  fail(
      "the checkpoint's run has global batches of {}, but {} with batch.micro_batch {} and "
      "batch.gradient_accumulation_steps {} make batches of {}; change these three until both are "
      "the same",
      counted(plan.global_batch(), "sample"), counted(ranks, "rank"), config.batch.micro_batch,
      config.batch.gradient_accumulation_steps, count_text(global_batch));
}

optim::ScheduleOptions schedule_options(const config::ScheduleConfig& config,
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

bool is_sharded(const config::RunConfig& config, const comm::Communicator& replicas) {
  return config.optimizer.sharded != config::Sharding::kNone && replicas.size() > 1;
}

comm::BucketOptions bucket_options(const config::RunConfig& config) {
  return {.clip = config.clip.mode,
          .max_norm = static_cast<float>(config.clip.max_norm),
          .reduce_dtype = reduce_dtype(config.reduce.dtype),
          .accumulation = accumulation(config.reduce),
          .bucket_bytes = static_cast<int64_t>(config.reduce.bucket_megabytes * 1e6),
          .scaled_loss = config.model.precision == config::Precision::kFp16,
          .max_ctas = config.reduce.nccl_max_ctas.value_or(0)};
}

comm::BucketOptions bucket_options(const config::RunConfig& config, const bert::Model& model,
                                   comm::Communicator* stages) {
  comm::BucketOptions options = bucket_options(config);
  options.parts = stages;
  const bool sharded = config.optimizer.sharded != config::Sharding::kNone;
  if (sharded && !model.parameters().shards_weights()) {
    options.gathered_weights = model.compute_weights();
  }
  if (model.parameters().shards_gradients()) {
    options.gradient_shards = model.parameters().gradient_sums();
    options.rounds = rounds_of_reduction(config);
  }
  return options;
}

std::vector<Range> gradient_buckets(const config::RunConfig& config,
                                    const bert::ParameterLayout& layout) {
  comm::BucketOptions options = bucket_options(config);
  if (config.reduce.early_words) options.tied_rows.table = layout.words();
  return comm::make_buckets(model_boundaries(config, layout), options);
}

comm::BucketPlan bucket_plan(const config::RunConfig& config, const bert::ParameterLayout& layout,
                             int ranks, const bert::Stage& stage) {
  constexpr auto kMaster = device::DType::kF32;
  static char present;  // stands for memory that is never used
  const device::Tensor whole{&present, kMaster, 1, layout.size};
  comm::BucketOptions options = bucket_options(config);
  if (config.reduce.early_words) options.tied_rows.table = layout.words();
  device::Arena gradients(whole);
  if (shards_gradients(config, ranks)) {
    const comm::UnitMemory memory = comm::place_units(units_of(config, layout));
    gradients = {{&present, kMaster, 1, memory.elements}, layout.size, memory.runs};
    options.gradient_shards = device::Arena(whole);
    options.rounds = rounds_of_reduction(config);
  }
  const bool shards_state = config.optimizer.sharded != config::Sharding::kNone;
  if (shards_state && !shards_weights(config, ranks)) options.gathered_weights = whole;
  comm::BucketPlan plan = comm::make_bucket_plan(
      options, model_boundaries(config, layout), gradients, ranks,
      config.device.backend->memory_is_host, config.optimizer.name == config::OptimizerKind::kLamb);
  plan.in_parts = stage.count > 1;
  return plan;
}

StepPlan step_plan(const config::RunConfig& config, const bert::BertConfig& model, int ranks,
                   const bert::Stage& stage) {
  const auto delayed = make_delayed_work(config, model, stage);
  return make_step_plan(delayed ? delayed->schedule : make_schedule(config, model, ranks, stage),
                        bert::ParameterLayout(model, stage), config.reduce.early_words,
                        config.reduce.half_layers, shards_gradients(config, ranks));
}

std::unique_ptr<device::GraphCache> make_graph_cache(const config::RunConfig& config,
                                                     device::Backend& backend) {
  return config.device.graphs ? std::make_unique<device::GraphCache>(backend) : nullptr;
}

int state_per_weight(config::OptimizerKind optimizer) {
  if (optimizer == config::OptimizerKind::kSgd) return 1;
  return optimizer == config::OptimizerKind::kMadgrad ? 3 : 2;
}

std::unique_ptr<optim::Optimizer> make_optimizer(const config::OptimizerConfig& config,
                                                 device::Backend& backend,
                                                 const bert::ParameterLayout& layout,
                                                 const optim::ParameterArena& arena,
                                                 std::span<const Range> owned) {
  std::vector<optim::Segment> segments;
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
  if (is_sharded(config, replicas)) {
    owned = local_shards(gradient_buckets(config, model.layout()), replicas);
  }
  return make_optimizer(config.optimizer, backend, model.layout(), arena, owned);
}

std::unique_ptr<comm::GradientBuckets> make_gradient_buckets(device::Backend& backend,
                                                             comm::Communicator& communicator,
                                                             const bert::Model& model,
                                                             const comm::BucketOptions& options,
                                                             optim::Optimizer& optimizer,
                                                             const std::vector<Range>* frozen) {
  const auto update = [&optimizer, frozen](const comm::ReducedGradients& reduced) {
    Range left = reduced.range;
    const auto update_to = [&](int64_t end) {
      if (end > left.begin) optimizer.update(reduced.stream, {left.begin, end}, reduced.clip);
    };
    for (size_t i = 0; frozen && i < frozen->size(); ++i) {
      const Range& range = (*frozen)[i];
      if (range.end <= left.begin || range.begin >= left.end) continue;
      update_to(range.begin);
      left.begin = std::min(range.end, left.end);
    }
    update_to(left.end);
  };
  const auto finish = [&optimizer](const comm::ReducedGradients& reduced) {
    optimizer.finish(reduced.stream, reduced.range);
  };
  comm::BucketOptions of_model = options;
  if (model.late_words()) of_model.tied_rows = {model.layout().words(), model.late_words()};
  return std::make_unique<comm::GradientBuckets>(
      backend, communicator, model.parameters().gradients(), model.boundaries(), of_model, update,
      comm::DeferredUpdate{optimizer.partial_sums(), finish});
}

}  // namespace strata::training
