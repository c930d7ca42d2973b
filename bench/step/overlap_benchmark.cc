#include "bench/step/overlap_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/text/counts.h"
#include "bench/step/synthetic_training.h"
#include "training/factories/buckets.h"
#include "training/factories/checks.h"
#include "training/trainer.h"

namespace strata::bench {
namespace {

using Step = SyntheticTraining::Step;

// One way to reduce gradients, and the times of its steps.
struct Contender {
  std::string name;
  std::unique_ptr<comm::GradientBuckets> buckets;
  std::vector<double> step, backward, communication, exposed;

  void add(const Step& times) {
    step.push_back(times.seconds);
    backward.push_back(times.compute.last_backward);
    communication.push_back(times.reduce.communication_seconds);
    exposed.push_back(times.reduce.exposed_communication_seconds);
  }
};

double gradient_bytes(const config::RunConfig& config, const bert::Model& model) {
  return static_cast<double>(model.layout().size) *
         static_cast<double>(device::size_of(training::bucket_options(config).reduce_dtype));
}

// Returns the link on which the all-reduces of all buckets take `seconds`.
comm::Link link_that_takes(double seconds, double latency_seconds, int ranks, double bytes,
                           int64_t buckets) {
  const double latency =
      static_cast<double>(buckets) * comm::all_reduce_seconds({1.0, latency_seconds}, ranks, 0);
  if (latency >= seconds) {
    fail(
        "the latency of the all-reduces of {} is {:.3g} s, not below the {:.3g} s that --share "
        "gives to communication; lower --latency-us, or raise --share",
        counted(buckets, "bucket"), latency, seconds);
  }
  const double bytes_sent = comm::all_reduce_seconds({1.0, 0}, ranks, bytes);
  return {bytes_sent / (seconds - latency), latency_seconds};
}

// If reduce.split_tied_embedding is set, embeddings are reduced before the rest of a rank's
// gradient is known, so a rank cannot clip its gradient.
std::vector<config::ClipMode> modes_of(const config::RunConfig& config) {
  using enum config::ClipMode;
  if (config.reduce.split_tied_embedding) return {kNone, kAfterAllReduce};
  return {kNone, kAfterAllReduce, kBeforeAllReduce, kBucketBeforeAllReduce};
}

}  // namespace

OverlapBenchmark benchmark_overlap(const config::RunConfig& config, const OverlapOptions& options,
                                   const training::Ranks& ranks) {
  if (ranks.size() == 1) {
    fail(
        "a single rank has no communication; start several ranks: scripts/mpirun.sh -n 2 strata "
        "bench overlap ...");
  }
  training::check_one_stage(config);
  constexpr int kUnmeasured = 1;
  // All contenders use the unsharded state.
  config::RunConfig unsharded = config;
  unsharded.optimizer.sharded = config::Sharding::kNone;
  SyntheticTraining training(unsharded, {options.micro_batch_tokens}, options.steps + kUnmeasured,
                             ranks);
  if (options.link && training.backend().has_collectives()) {
    fail(
        "device.backend={}: this backend has its own collectives, for which a slow link cannot be "
        "emulated; use --real-network",
        training.backend().name());
  }
  const comm::BucketOptions configured = training::bucket_options(config);
  const auto single_rank = comm::make_single_communicator();
  Contender without{.name = "no communication",
                    .buckets = training.make_buckets(*single_rank, configured)};

  OverlapBenchmark result{.device = training.backend().description(),
                          .ranks = ranks.size(),
                          .buckets = std::ssize(without.buckets->buckets()),
                          .bytes = gradient_bytes(config, training.model()),
                          .link = options.link};
  if (result.link && result.link->bytes_per_second == 0) {
    for (size_t batch = 0; batch < 3; ++batch) {
      without.add(training.timed_step(batch % training.batches(), *without.buckets));
    }
    const double backward = slowest(ranks, median(without.backward));
    result.link =
        link_that_takes(options.communication_share * backward, result.link->latency_seconds,
                        ranks.size(), result.bytes, result.buckets);
    without = {.name = without.name, .buckets = std::move(without.buckets)};
  }
  const auto network = result.link
                           ? comm::make_slow_link(ranks.communicator.duplicate(), *result.link)
                           : ranks.communicator.duplicate();

  std::vector<Contender> contenders;
  // If ranks sync overflows (fp16), also measures steps without the sync. after_allreduce has to
  // wait for the norm anyway. The loss is not scaled here, so no gradient overflows.
  const auto add = [&](const std::string& name, comm::BucketOptions reduction) {
    contenders.push_back({name, training.make_buckets(*network, reduction)});
    if (!reduction.scaled_loss || reduction.clip == comm::ClipMode::kAfterAllReduce) return;
    reduction.scaled_loss = false;
    contenders.push_back({name + ", not synced", training.make_buckets(*network, reduction)});
  };
  for (const config::ClipMode mode : modes_of(config)) {
    config::RunConfig of_mode = config;
    of_mode.clip.mode = mode;
    add(fmt::format("{}{}", config::name_of(mode),
                    config.reduce.split_tied_embedding ? ", tied-embedding split" : ""),
        training::bucket_options(of_mode));
  }
  if (config.optimizer.name == config::OptimizerKind::kAdam &&
      !config.reduce.split_tied_embedding) {  // LAMB's whole state works on whole tensors
    comm::BucketOptions sharded = configured;
    sharded.clip = comm::ClipMode::kBucketBeforeAllReduce;
    sharded.gathered_weights = training.model().compute_weights();
    add(fmt::format("{}, sharded state", config::name_of(config::ClipMode::kBucketBeforeAllReduce)),
        sharded);
  }

  training::Timeline timeline(ranks.communicator);
  const int steps = options.steps + kUnmeasured;
  for (int i = 0; i < steps; ++i) {
    const auto batch = static_cast<size_t>(i);
    const bool measured = i >= kUnmeasured, last = i + 1 == steps;
    const auto run = [&](Contender& contender) {
      const auto begin = Clock::now();
      const Step times = training.timed_step(batch, *contender.buckets, last ? &timeline : nullptr);
      if (last) timeline.add_step(contender.name, begin, Clock::now());
      if (measured) contender.add(times);
    };
    run(without);
    for (Contender& contender : contenders) run(contender);
    if (measured) result.tokens += training.work(batch).tokens;
    if (options.progress) options.progress(batch + 1, static_cast<size_t>(steps));
  }
  if (!options.timeline.empty()) timeline.write(options.timeline);

  std::vector<int64_t> tokens = {result.tokens};
  ranks.communicator.all_reduce_sum(tokens);
  result.tokens = tokens[0] / options.steps;
  const double step_without_link = slowest(ranks, median(without.step));
  for (const Contender& contender : contenders) {
    result.modes.push_back({.name = contender.name,
                            .step = slowest(ranks, median(contender.step)),
                            .backward = slowest(ranks, median(contender.backward)),
                            .communication = slowest(ranks, median(contender.communication)),
                            .exposed = slowest(ranks, median(contender.exposed)),
                            .step_without_link = step_without_link});
  }
  return result;
}

}  // namespace strata::bench
