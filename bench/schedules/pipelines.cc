#include "bench/schedules/pipelines.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/numbers/statistics.h"
#include "bench/step/synthetic_training.h"
#include "training/factories/buckets.h"

namespace strata::bench {
namespace {

config::RunConfig with(config::RunConfig config, bert::Pipeline pipeline, int stages) {
  config.parallel.stages = stages;
  config.parallel.pipeline = pipeline;
  config.optimizer.sharded = config::Sharding::kNone;
  config.batch.accumulation_order = config::AccumulationOrder::kMicroBatch;
  config.reduce.split_tied_embedding = false;
  config.reduce.half_layers = false;
  return config;
}

std::string name_of(bert::Pipeline pipeline, int stages) {
  return fmt::format("{}, {} stages", config::name_of(pipeline), stages);
}

std::vector<int> numbers_of_stages(const config::RunConfig& config, int ranks) {
  if (config.parallel.stages > 1) return {config.parallel.stages};
  std::vector<int> numbers;
  for (int stages = 2; stages <= ranks; ++stages) {
    if (ranks % stages == 0) numbers.push_back(stages);
  }
  return numbers;
}

// Runs the steps of one pipeline.
class MeasuredPipeline {
 public:
  MeasuredPipeline(const SectionSetup& setup, const config::RunConfig& config, int batches)
      : setup_(setup),
        config_(config),
        training_(config, {setup.options.micro_batch_tokens}, batches, setup.network,
                  setup.make_device()),
        buckets_(training_.make_buckets(training_.replicas(),
                                        training::bucket_options(config, training_.model()))) {}

  void step(size_t batch, bool measured, training::Timeline* timeline) {
    const int64_t before = message_bytes_sent(setup_.ranks);
    const SyntheticTraining::Step step = training_.timed_step(batch, *buckets_, timeline);
    sent_ = message_bytes_sent(setup_.ranks) - before;
    tokens_ = training_.rounded_tokens(batch);
    if (!measured) return;
    const auto of_ranks = [&](double value) { return of_all_ranks(setup_.ranks, value); };
    const auto whole = of_ranks(step.seconds);
    const auto span = of_ranks(step.seconds - step.reduce.wait_seconds);
    const auto compute = of_ranks(step.compute.forward + step.compute.backward);
    const auto waiting = of_ranks(step.compute.waiting);
    const ReplicaTimes slowest = slowest_replica(span, compute, config_.parallel.stages);
    steps_.push_back(*std::ranges::max_element(whole));
    spans_.push_back(slowest.span);
    layers_.push_back(slowest.layers);
    heads_.push_back(slowest.heads);
    waiting_.push_back(mean(waiting));
    bubbles_.push_back(slowest.span / slowest.layers - 1);
  }

  PipelineMeasurement result() {
    const config::ParallelConfig& parallel = config_.parallel;
    const bert::Model& model = training_.model();
    const auto compute = model.backend().compute_dtype();
    const int micro_batches = config_.batch.gradient_accumulation_steps;
    PipelineMeasurement result{
        .name = name_of(parallel.pipeline, parallel.stages),
        .pipeline = parallel.pipeline,
        .stages = parallel.stages,
        .step = median(steps_),
        .slowest = {.span = median(spans_), .layers = median(layers_), .heads = median(heads_)},
        .waiting = median(waiting_)};
    result.parts = {.paper = bubble_share(parallel.pipeline, parallel.stages, model.config().layers,
                                          micro_batches),
                    .heads = result.slowest.heads / result.slowest.layers};
    if (const auto& link = setup_.options.link) {
      const double tokens = static_cast<double>(tokens_) / micro_batches;
      const double bytes = tokens * static_cast<double>(model.config().hidden_size) *
                           static_cast<double>(size_of(compute));
      result.parts.messages =
          2 * (parallel.stages - 1) * comm::message_seconds(*link, bytes) / result.slowest.layers;
    }
    result.bubble = {median(bubbles_), bubble_with(result.parts)};
    result.message_bytes = sum_over_ranks(setup_.ranks, sent_);
    result.message_bytes_formula = sum_over_ranks(
        setup_.ranks,
        message_bytes(parallel.pipeline, parallel.stages, model.config(), tokens_, compute));
    result.activations = activations_of_all_ranks(setup_.ranks, model);
    return result;
  }

 private:
  const SectionSetup& setup_;
  const config::RunConfig& config_;
  SyntheticTraining training_;
  std::unique_ptr<comm::GradientBuckets> buckets_;
  std::vector<double> steps_, spans_, layers_, heads_, waiting_, bubbles_;
  int64_t sent_ = 0, tokens_ = 0;  // the last step's
};

}  // namespace

ReplicaTimes slowest_replica(std::span<const double> spans, std::span<const double> compute,
                             int stages) {
  const auto size = static_cast<size_t>(stages);
  ReplicaTimes slowest;
  for (size_t first = 0; first < spans.size(); first += size) {
    if (spans[first] <= slowest.span) continue;
    const double layers = mean(compute.subspan(first + 1, size - 1));
    slowest = {spans[first], layers, std::max(compute[first] - layers, 0.0)};
  }
  return slowest;
}

Pipelines measure_pipelines(const SectionSetup& setup) {
  const ScheduleOptions& options = setup.options;
  Pipelines result;
  std::vector<config::RunConfig> configs;
  for (const int stages : numbers_of_stages(setup.config, setup.ranks.size())) {
    for (const auto pipeline : {bert::Pipeline::kContiguous, bert::Pipeline::kModular}) {
      const config::RunConfig config = with(setup.config, pipeline, stages);
      if (const auto reason = reason_to_skip(config, setup.ranks.size())) {
        result.skipped.push_back({name_of(pipeline, stages), *reason});
      } else {
        configs.push_back(config);
      }
    }
  }
  for (const config::RunConfig& config : configs) {
    const int steps = options.steps + kUnmeasuredSteps;
    MeasuredPipeline pipeline(setup, config, steps);
    for (int i = 0; i < steps; ++i) {
      const bool last = i + 1 == steps;
      const auto begin = Clock::now();
      pipeline.step(static_cast<size_t>(i), i >= kUnmeasuredSteps,
                    last ? &setup.timeline : nullptr);
      if (last) {
        setup.timeline.add_step(name_of(config.parallel.pipeline, config.parallel.stages), begin,
                                Clock::now());
      }
    }
    result.pipelines.push_back(pipeline.result());
    if (options.progress) options.progress("pipelines", result.pipelines.size(), configs.size());
  }
  return result;
}

}  // namespace strata::bench
