#include "plan/step_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "loadbalance/length_histogram.h"
#include "loadbalance/plans/imbalance.h"

namespace strata::plan {
namespace {

constexpr double kBackwardShare = 1 - kForwardShare;

double count(int64_t number) { return static_cast<double>(number); }

int64_t replicas(const StepInput& input) { return input.ranks / input.layout.stages; }

// Of layers that follow each other on a stage.
int64_t runs_of_stage(const ModelShape& shape, const Layout& layout) {
  return layout.modular ? shape.layers / layout.stages : 1;
}

double gradient_bytes(const ModelShape& shape, const Layout& layout) {
  return shape.parameters / count(layout.stages) * shape.gradient_bytes;
}

// Bytes that a step sends over those of one all-reduce, whose halves are a scatter and a gather.
double volume(const Layout& layout) {
  const double rounds = layout.order == Order::kMicroBatch ? count(layout.micro_batches) : 1;
  switch (layout.sharding) {
    case Sharding::kNone:
    case Sharding::kState:
      return 1;
    case Sharding::kGradients:
      return (rounds + 1) / 2;
    case Sharding::kAll:
      return 1.5 * rounds;
  }
  return 1;
}

// Seconds of work beside which communication may go on.
double hiding(const Layout& layout, double compute) {
  if (layout.sharding == Sharding::kAll) return compute;
  const bool throughout = layout.order == Order::kLayer || layout.sharding == Sharding::kGradients;
  return kBackwardShare * compute / (throughout ? 1 : count(layout.micro_batches));
}

double exposed(const Calibration& calibration, const ModelShape& shape, const StepInput& input,
               double compute) {
  if (input.nodes < 2) return 0;
  if (!input.network) return calibration.costs.between_nodes;
  const double seconds =
      volume(input.layout) *
      all_reduce_seconds(*input.network, gradient_bytes(shape, input.layout), replicas(input));
  return exposed_communication(seconds, shape.tail, hiding(input.layout, compute));
}

// One micro-batch's way to the last stage and back.
double way_through_stages(const ModelShape& shape, const StepInput& input) {
  if (!input.network) return 0;
  const double tokens =
      input.batch / count(replicas(input)) / count(input.layout.micro_batches) * shape.mean_tokens;
  const double bytes = tokens * count(shape.hidden) * shape.compute_bytes;
  return 2 * count(input.layout.stages - 1) *
         (bytes / input.network->bytes_per_second + input.network->latency);
}

double bubble(const ModelShape& shape, const StepInput& input, double compute) {
  const Layout& layout = input.layout;
  if (layout.stages == 1) return 0;
  return compute * bubble_with({.paper = bubble_share(layout.stages, runs_of_stage(shape, layout),
                                                      layout.micro_batches),
                                .heads = shape.heads_share * count(layout.stages),
                                .messages = way_through_stages(shape, input) / compute});
}

}  // namespace

std::string_view name_of(Order order) { return order == Order::kLayer ? "layer" : "micro_batch"; }

std::string_view name_of(Sharding sharding) {
  constexpr std::array<std::string_view, 4> kNames = {"none", "state", "gradients", "all"};
  return kNames[static_cast<size_t>(sharding)];
}

std::string_view StepTime::binding() const {
  const std::array<std::pair<double, std::string_view>, 5> terms = {{{compute, "compute"},
                                                                     {imbalance, "imbalance"},
                                                                     {constant, "constant"},
                                                                     {bubble, "bubble"},
                                                                     {exposed, "communication"}}};
  return std::ranges::max_element(terms, {}, &std::pair<double, std::string_view>::first)->second;
}

StepTime predict_step(const Calibration& calibration, const ModelShape& shape,
                      const StepInput& input) {
  const StepCosts& costs = calibration.costs;
  StepTime step;
  step.compute = costs.per_sample * input.batch / count(input.ranks);
  step.imbalance = step.compute * (input.imbalance - 1);
  step.constant = costs.per_step * (1 + costs.repeated * count(input.layout.micro_batches - 1)) /
                  count(input.layout.stages);
  step.bubble = bubble(shape, input, step.compute);
  step.exposed = exposed(calibration, shape, input, step.compute);
  return step;
}

double simulated_imbalance(const std::string& strategy, int64_t replicas, double batch) {
  constexpr int kSteps = 20;
  constexpr uint64_t kSamples = 1 << 20;
  constexpr double kMostSimulated = 1 << 20;
  loadbalance::PlanOptions options;
  options.strategy = strategy;
  options.ranks = static_cast<int>(replicas);
  if (replicas < 2) return 1;
  // Larger batches are more even still.
  const double most = std::max(1.0, kMostSimulated / count(replicas));
  options.batch_per_rank =
      static_cast<int>(std::min(std::ceil(batch / count(replicas) - 1e-9), most));
  const uint64_t samples = std::max<uint64_t>(kSamples, 2 * loadbalance::global_batch_of(options));
  const std::vector<loadbalance::LengthCount> lengths =
      loadbalance::in_proportion(loadbalance::mlperf_wikipedia_histogram(), samples);
  return loadbalance::measure_imbalance(options, lengths, kSteps).mean_imbalance;
}

double rank_memory(const ModelShape& shape, const StepInput& input) {
  const Layout& layout = input.layout;
  const double shards = count(replicas(input));
  const auto shared = [&](Sharding from, double bytes) {
    return layout.sharding >= from ? bytes / shards : bytes;
  };
  const double weights = shape.master_bytes + shape.compute_bytes;
  double bytes =
      shape.parameters / count(layout.stages) *
      (shared(Sharding::kAll, weights) + shared(Sharding::kGradients, shape.master_bytes) +
       shared(Sharding::kState, 2 * shape.master_bytes));
  // Units take turns in memory for two layers.
  const double turns = 2 * shape.layer_parameters;
  if (layout.sharding == Sharding::kAll) bytes += turns * shape.compute_bytes;
  if (layout.sharding >= Sharding::kGradients) bytes += turns * shape.master_bytes;

  const double tokens =
      std::ceil(input.batch / shards / count(layout.micro_batches)) * shape.longest;
  const bool all_in_flight = layout.order == Order::kLayer || layout.stages > 1;
  const double in_flight = all_in_flight ? count(layout.micro_batches) : 1;
  const double layer =
      layer_activation_bytes(tokens, count(shape.hidden), count(shape.intermediate),
                             count(shape.heads), shape.compute_bytes, shape.master_bytes) +
      tokens * count(shape.hidden) * shape.compute_bytes;  // what crosses to the next block
  return bytes + in_flight * layer * count(shape.layers) / count(layout.stages);
}

}  // namespace strata::plan
