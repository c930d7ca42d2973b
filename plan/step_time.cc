#include "plan/step_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "loadbalance/length_histogram.h"
#include "loadbalance/plans/imbalance.h"
#include "plan/forms/shared_layers.h"

namespace strata::plan {
namespace {

constexpr double kBackwardShare = 1 - kForwardShare;

double count(int64_t number) { return static_cast<double>(number); }

int64_t replicas(const StepInput& input) {
  return input.layout.modules > 1 ? 1 : input.ranks / input.layout.stages;
}

// Returns the runs of consecutive layers on a stage.
int64_t runs_of_stage(const ModelShape& shape, const Layout& layout) {
  return layout.modular ? shape.layers / layout.stages : 1;
}

// Returns the parameters of the first stage, which has the embeddings and so the most.
double parameters_of_stage(const ModelShape& shape, const Layout& layout) {
  return shape.parameters * (shape.tail + (1 - shape.tail) / count(layout.stages));
}

// Returns the cost of the recomputed forwards, as a share of a step's.
double recomputed(const ModelShape& shape, const Layout& layout) {
  return layout.recompute ? kForwardShare / (1 + shape.heads_share) : 0;
}

// In a modular pipeline a layer's gradients are complete early, as in layer order.
bool runs_backward_once(const Layout& layout) {
  return layout.order == Order::kLayer || (layout.stages > 1 && layout.modular);
}

// Returns the seconds of the backward that hides reductions: of one micro-batch, or of all.
double backward_beside(const ModelShape& shape, const Layout& layout, double samples) {
  const double parts = runs_backward_once(layout) ? 1 : count(layout.micro_batches);
  return (kBackwardShare + recomputed(shape, layout)) * samples / parts;
}

// Returns how many different words so many tokens have at most, if words are drawn evenly.
double words_in(const ModelShape& shape, double tokens) {
  const double words = shape.tail * shape.parameters / count(shape.hidden);
  return words * (1 - std::exp(-tokens / words));
}

// Splits `seconds`, the communication of all gradients of the first stage in a pass.
Pieces pieces_of(const ModelShape& shape, const StepInput& input, double seconds) {
  const double tail = shape.tail * shape.parameters / parameters_of_stage(shape, input.layout);
  if (!input.layout.split_tied_embedding) return {0, (1 - tail) * seconds, tail * seconds};
  const double late =
      words_in(shape, input.batch * shape.mean_tokens) * count(shape.hidden) / shape.parameters;
  return {tail * seconds, (1 - tail) * seconds, late * seconds};
}

// Seconds to reduce-scatter the first stage's gradients, and to gather its weights.
struct Halves {
  double reduce = 0, gather = 0;
};

// Returns the seconds of one micro-batch's message between blocks.
double message_seconds(const ModelShape& shape, const StepInput& input) {
  if (!input.network) return 0;
  const Layout& layout = input.layout;
  const Link link =
      link_between_neighbours(*input.network, layout.modules > 1 ? input.ranks : layout.stages);
  const double tokens =
      input.batch / count(replicas(input)) / count(layout.micro_batches) * shape.mean_tokens;
  const double bytes = tokens * count(shape.hidden) * shape.compute_bytes;
  return bytes / link.bytes_per_second + link.latency;
}

// Returns the seconds of messages in the backward that hides reductions; both share the link.
double messages_beside(const ModelShape& shape, const StepInput& input) {
  const Layout& layout = input.layout;
  if (layout.stages == 1) return 0;
  const double messages =
      layout.modular ? count(runs_of_stage(shape, layout) * layout.micro_batches) : 1;
  return messages * message_seconds(shape, input);
}

// Returns the halves for all gradients of the first stage.
Halves halves_of(const ModelShape& shape, const StepInput& input) {
  const double parameters = parameters_of_stage(shape, input.layout);
  const Network network = network_of_group(*input.network, input.layout.stages);
  const auto half = [&](double bytes) {
    return all_reduce_seconds(network, parameters * bytes, replicas(input)) / 2;
  };
  const bool shards = input.layout.sharding != Sharding::kNone;
  return {half(shape.gradient_bytes), half(shards ? shape.compute_bytes : shape.gradient_bytes)};
}

// Returns the reduction's seconds for a layer of a modular pipeline, whose gradients are complete
// while other layers still send messages; 0 if all reductions wait for the norm.
double reduction_of_layer(const ModelShape& shape, const StepInput& input) {
  const Layout& layout = input.layout;
  const bool modular = layout.stages > 1 && layout.modular;
  if (!modular || !input.network || layout.clip == Clip::kBeforeAllReduce) return 0;
  const Halves halves = halves_of(shape, input);
  const bool gathers = layout.clip != Clip::kAfterAllReduce || layout.sharding == Sharding::kNone;
  return pieces_of(shape, input, halves.reduce + (gathers ? halves.gather : 0)).layers *
         count(layout.stages) / count(shape.layers);
}

// Returns the seconds of a pipeline beyond its stages' work, if each reduction takes `reduction`.
double pipeline_bubble(const ModelShape& shape, const StepInput& input, double compute,
                       double reduction) {
  const Layout& layout = input.layout;
  PipelinePass pass{.stages = layout.stages,
                    .runs = runs_of_stage(shape, layout),
                    .micro_batches = layout.micro_batches,
                    .message = message_seconds(shape, input)};
  const auto of_pass = [&](double seconds) {
    pass.run = seconds / count(pass.runs * layout.micro_batches);
    return pass_bubble(pass);
  };
  const double again = recomputed(shape, layout);
  const double all = 1 + again;
  const double forward = of_pass(kForwardShare / all * compute);
  pass.reduction = reduction;
  return std::max(forward + of_pass((kBackwardShare + again) / all * compute),
                  compute * shape.heads_share * count(layout.stages));
}

// Returns the exposed seconds if gradients or weights are sharded.
double exposed_of_shards(const ModelShape& shape, const StepInput& input, double samples) {
  const Layout& layout = input.layout;
  const Halves halves = halves_of(shape, input);
  const bool weights = layout.sharding == Sharding::kAll;
  // No weight changes before the norm is known.
  const bool waits = !weights && layout.clip == Clip::kAfterAllReduce;
  const double back = weights || waits ? 0 : halves.gather;
  const double words = shape.tail, layer = (1 - words) / count(shape.layers);
  const auto passes = runs_backward_once(layout) ? 1 : layout.micro_batches;
  const double of_pass = samples / count(passes), of_layers = of_pass / (1 + shape.heads_share);
  const double backward = kBackwardShare * of_layers + recomputed(shape, layout) * of_pass;
  const double seconds =
      shared_layers_seconds({.layers = shape.layers,
                             .passes = passes,
                             .forward = kForwardShare * of_layers / count(shape.layers),
                             .backward = backward / count(shape.layers),
                             .heads = of_pass - of_layers,
                             .gathers_weights = weights,
                             .layer_gather = layer * halves.gather,
                             .words_gather = words * halves.gather,
                             .layer_reduce = layer * halves.reduce,
                             .words_reduce = words * halves.reduce,
                             .layer_return = layer * back,
                             .words_return = words * back});
  return seconds + (waits ? halves.gather : 0) - samples * (1 + recomputed(shape, layout));
}

// Returns the exposed seconds if gradients are sent in buckets, each as an all-reduce of its own.
double exposed_of_buckets(const ModelShape& shape, const StepInput& input, double backward) {
  const Layout& layout = input.layout;
  std::vector<double> seconds, before_end;
  double all = 0;
  for (const Bucket& bucket : gradient_buckets(shape, layout.bucket_bytes)) {
    seconds.push_back(all_reduce_seconds(*input.network, bucket.bytes, replicas(input)));
    before_end.push_back(bucket.backward_left * backward);
    all += seconds.back();
  }
  if (layout.clip == Clip::kBeforeAllReduce) return all;
  if (layout.clip == Clip::kAfterAllReduce && layout.sharding != Sharding::kNone) {
    for (double& each : seconds) each /= 2;  // the other half is gathered in the end
    return exposed_communication(seconds, before_end) + all / 2;
  }
  return exposed_communication(seconds, before_end);
}

double exposed_on_network(const ModelShape& shape, const StepInput& input, double samples) {
  const Layout& layout = input.layout;
  if (replicas(input) == 1) return 0;
  if (layout.sharding >= Sharding::kGradients) return exposed_of_shards(shape, input, samples);
  const Halves halves = halves_of(shape, input);
  const double both = halves.reduce + halves.gather;
  double backward = backward_beside(shape, layout, samples) - messages_beside(shape, input);
  if (const double reduction = reduction_of_layer(shape, input); reduction > 0) {
    // Messages that wait for reductions give these more time.
    const double compute = samples * (1 + recomputed(shape, layout));
    backward += pipeline_bubble(shape, input, compute, reduction) -
                pipeline_bubble(shape, input, compute, 0);
  }
  backward = std::max(0.0, backward);
  const int64_t layers = shape.layers / layout.stages;
  if (layout.bucket_bytes > 0) return exposed_of_buckets(shape, input, backward);
  const auto exposed = [&](double seconds) {
    return exposed_communication(pieces_of(shape, input, seconds), layers, backward);
  };
  if (layout.clip == Clip::kBeforeAllReduce) return both;  // the norm needs all of backward
  if (layout.clip == Clip::kAfterAllReduce && layout.sharding != Sharding::kNone) {
    return exposed(halves.reduce) + halves.gather;  // no weight changes before the norm is known
  }
  return exposed(both);
}

// Returns the exposed seconds beside the update of other buckets.
double exposed_beside_updates(const ModelShape& shape, const StepInput& input, double samples,
                              double update) {
  const double seconds = exposed_on_network(shape, input, samples);
  // All buckets wait for the norm in this clip mode.
  if (input.layout.clip == Clip::kAfterAllReduce) return seconds;
  return std::max(0.0, seconds - update);
}

// Returns the exposed seconds of the calibrated domain, which are part of the calibrated costs.
double exposed_in_calibration(const Calibration& calibration, const ModelShape& shape,
                              const StepInput& input, double samples) {
  StepInput calibrated = input;
  calibrated.ranks = std::min(calibration.ranks_per_node, input.network->domain);
  calibrated.batch = input.batch / count(input.ranks) * count(calibrated.ranks);
  calibrated.layout = {.micro_batches = input.layout.micro_batches, .clip = input.layout.clip};
  return exposed_beside_updates(shape, calibrated, samples, calibration.costs.update);
}

double exposed(const Calibration& calibration, const ModelShape& shape, const StepInput& input,
               double samples) {
  const StepCosts& costs = calibration.costs;
  if (input.layout.modules > 1) return 0;
  if (!input.network) return input.nodes > 1 ? costs.between_nodes : 0;
  const double seconds = exposed_beside_updates(shape, input, samples, costs.update) -
                         exposed_in_calibration(calibration, shape, input, samples);
  const bool several = domains_of(*input.network, input.ranks) > 1;
  return std::max(0.0, seconds) + (several ? costs.between_nodes : 0);
}

// Returns the seconds of a step of modules beyond an even division among ranks. Forward runs the
// modules one after another. Delayed backward takes as long as on the rank with the most of it.
double modules_bubble(const ModelShape& shape, const StepInput& input, double compute) {
  const Layout& layout = input.layout;
  const double whole = compute * count(input.ranks);
  const double hops = count(layout.modules - 1) * (layout.delayed ? 1 : 2);
  const double backward =
      layout.delayed ? longest_backward_share(layout.modules, shape.layers, shape.heads_share) : 1;
  return whole * (kForwardShare + kBackwardShare * backward) - compute +
         hops * message_seconds(shape, input);
}

double bubble(const ModelShape& shape, const StepInput& input, double compute) {
  if (input.layout.modules > 1) return modules_bubble(shape, input, compute);
  if (input.layout.stages == 1) return 0;
  return pipeline_bubble(shape, input, compute, reduction_of_layer(shape, input));
}

// Returns the constant seconds of a step. Stages divide the update, and what every micro-batch
// repeats, which is launches of their layers. They do not divide the rest.
double constant_seconds(const StepCosts& costs, const Layout& layout) {
  const double repeated = costs.per_step * costs.repeated, once = costs.per_step - repeated;
  const double update = std::min(costs.update, once);
  return (repeated * count(layout.micro_batches) + update) / count(layout.stages) + once - update;
}

}  // namespace

std::string_view name_of(Order order) { return order == Order::kLayer ? "layer" : "micro_batch"; }

std::string_view name_of(Sharding sharding) {
  constexpr std::array<std::string_view, 4> kNames = {"none", "state", "gradients", "all"};
  return kNames[static_cast<size_t>(sharding)];
}

std::string_view name_of(Clip clip) {
  constexpr std::array<std::string_view, 4> kNames = {"none", "after_allreduce", "before_allreduce",
                                                      "bucket_before_allreduce"};
  return kNames[static_cast<size_t>(clip)];
}

std::vector<Bucket> gradient_buckets(const ModelShape& shape, double bucket_bytes) {
  std::vector<Bucket> buckets;
  double open = 0;
  const auto close = [&](double left) {
    const double parts = std::max(1.0, std::floor(open / bucket_bytes));
    buckets.insert(buckets.end(), static_cast<size_t>(parts), {open / parts, left});
    open = 0;
  };
  const double words = shape.tail * shape.parameters;
  const double layers = count(shape.layers) * shape.layer_parameters;
  // Heads come first. Parameters of neither heads nor layers come with the words.
  const double heads = std::max(0.0, shape.parameters - layers - words);
  open = heads * shape.gradient_bytes;
  for (int64_t layer = shape.layers; layer-- > 0;) {
    open += shape.layer_parameters * shape.gradient_bytes;
    if (open >= bucket_bytes) close(count(layer) / count(shape.layers));
  }
  open += words * shape.gradient_bytes;
  close(0);
  return buckets;
}

std::string_view StepTime::binding() const {
  const std::array<std::pair<double, std::string_view>, 5> terms = {{{compute, "compute"},
                                                                     {imbalance, "imbalance"},
                                                                     {constant, "constant"},
                                                                     {bubble, "bubble"},
                                                                     {exposed, "communication"}}};
  const std::string_view largest =
      std::ranges::max_element(terms, {}, &std::pair<double, std::string_view>::first)->second;
  const bool either = largest == "constant" || largest == "communication";
  return either && !tells_exposed ? "communication or constant" : largest;
}

StepTime predict_step(const Calibration& calibration, const ModelShape& shape,
                      const StepInput& input) {
  const StepCosts& costs = calibration.costs;
  StepTime step;
  const double samples = costs.per_sample * input.batch / count(input.ranks);
  step.compute = samples * (1 + recomputed(shape, input.layout));
  step.imbalance = step.compute * (input.imbalance - 1);
  step.constant = constant_seconds(costs, input.layout);
  step.bubble = bubble(shape, input, step.compute);
  step.exposed = exposed(calibration, shape, input, samples);
  const bool several =
      input.network ? domains_of(*input.network, input.ranks) > 1 : input.nodes > 1;
  const double work = step.compute + step.imbalance + step.bubble;
  step.error = predicted_error(
      calibration,
      {costs.per_sample > 0 ? work / costs.per_sample : 0,
       costs.per_step > 0 ? step.constant / costs.per_step : 1.0, several ? 1.0 : 0.0},
      step.total(), input.ranks);
  step.tells_exposed = !several || calibration.tells_nodes_apart;
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
  // Larger batches are even more balanced.
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
  // Gather groups share two layers' buffers alternately.
  const double buffers = 2 * shape.layer_parameters;
  if (layout.sharding == Sharding::kAll) bytes += buffers * shape.compute_bytes;
  if (layout.sharding >= Sharding::kGradients) bytes += buffers * shape.master_bytes;

  const double tokens =
      std::ceil(input.batch / shards / count(layout.micro_batches)) * shape.longest;
  const bool all_in_flight = layout.order == Order::kLayer || layout.stages > 1;
  const double in_flight = all_in_flight ? count(layout.micro_batches) : 1;
  const double layer =
      layer_activation_bytes(tokens, count(shape.hidden), count(shape.intermediate),
                             count(shape.heads), shape.compute_bytes, shape.master_bytes);
  const double crossing = tokens * count(shape.hidden) * shape.compute_bytes;  // to the next block
  const double layers = count(shape.layers) / count(layout.stages);
  return bytes + in_flight * layers * crossing +
         workspace_bytes(tokens, count(shape.hidden), count(shape.intermediate),
                         shape.compute_bytes) +
         (layout.recompute ? 1 : in_flight * layers) * layer;
}

}  // namespace strata::plan
