#include "training/factories/buckets.h"

#include <algorithm>

#include "comm/buckets/sharding/gather_groups.h"
#include "training/factories/sharding.h"

namespace strata::training {
namespace {

// How often a step reduces each bucket of sharded gradients.
int rounds_of_reduction(const config::RunConfig& config) {
  const bool once = config.batch.accumulation_order == config::AccumulationOrder::kLayer;
  return once ? 1 : config.batch.gradient_accumulation_steps;
}

// Elements of the arena at which backward may pause.
std::vector<int64_t> model_boundaries(const config::RunConfig& config,
                                      const bert::ParameterLayout& layout) {
  return config.reduce.half_layers ? layout.boundaries_with_halves() : layout.boundaries;
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

// Returns the options with the table of tied-embedding rows.
comm::BucketOptions bucket_options(const config::RunConfig& config,
                                   const bert::ParameterLayout& layout) {
  comm::BucketOptions options = training::bucket_options(config);
  if (config.reduce.split_tied_embedding) options.tied_rows.table = layout.words();
  return options;
}

}  // namespace

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
  return comm::make_buckets(model_boundaries(config, layout), bucket_options(config, layout));
}

comm::BucketPlan bucket_plan(const config::RunConfig& config, const bert::ParameterLayout& layout,
                             int ranks, const bert::Stage& stage) {
  constexpr auto kMaster = device::DType::kF32;
  static char present;  // stands for memory, which the plan does not use
  const device::Tensor whole{&present, kMaster, 1, layout.size};
  comm::BucketOptions options = bucket_options(config, layout);
  device::Arena gradients(whole);
  if (shards_gradients(config, ranks)) {
    const comm::GatherGroupMemory memory = comm::place_gather_groups(
        comm::make_gather_groups(layout.boundaries, gradient_buckets(config, layout)));
    gradients = {{&present, kMaster, 1, memory.elements}, layout.size, memory.runs};
    options.gradient_shards = device::Arena(whole);
    options.rounds = rounds_of_reduction(config);
  }
  const bool sharded = config.optimizer.sharded != config::Sharding::kNone;
  if (sharded && !shards_weights(config, ranks)) options.gathered_weights = whole;
  comm::BucketPlan plan = comm::make_bucket_plan(
      options, model_boundaries(config, layout), gradients, ranks,
      config.device.backend->memory_is_host, config.optimizer.name == config::OptimizerKind::kLamb);
  plan.in_parts = stage.count > 1;
  return plan;
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
  if (model.sparse_word_gradient())
    of_model.tied_rows = {model.layout().words(), model.sparse_word_gradient()};
  return std::make_unique<comm::GradientBuckets>(
      backend, communicator, model.parameters().gradients(), model.boundaries(), of_model, update,
      comm::DeferredUpdate{optimizer.partial_sums(), finish});
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

}  // namespace strata::training
