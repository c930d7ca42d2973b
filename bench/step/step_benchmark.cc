#include "bench/step/step_benchmark.h"

#include <algorithm>
#include <array>
#include <optional>

#include "bench/devices/device_peaks.h"
#include "bench/machine/process_time.h"
#include "bench/step/synthetic_training.h"
#include "training/factories/backend.h"
#include "training/factories/buckets.h"
#include "training/factories/checks.h"
#include "training/trainer.h"

namespace strata::bench {
namespace {

// Runs the steps before the measured ones. Libraries choose their algorithms at a batch's first
// step. A graph is captured when a batch comes to a slot of the model for the second time, so a
// round of all batches takes whole turns of the slots, and batches return to theirs.
void warm_up(SyntheticTraining& training, comm::GradientBuckets& buckets) {
  constexpr int64_t kFewest = 4;
  const auto batches = static_cast<int64_t>(training.batches());
  const auto micro_batches = std::ssize(training.lengths(0));
  const int slots = training.model().slots();
  const auto whole_turns = [&](int64_t steps) {
    while (steps * micro_batches % slots != 0) ++steps;
    return steps;
  };
  // The first FP8 step only records what later ones round.
  if (training.model().in_float8()) {
    for (int64_t i = 0; i < whole_turns(1); ++i) training.step(0, buckets);
  }
  const int64_t round = whole_turns(batches);
  const int64_t rounds =
      std::max<int64_t>(training.knows_phases() ? 1 : 2, (kFewest + round - 1) / round);
  for (int64_t i = 0; i < rounds * round; ++i) {
    training.step(static_cast<size_t>(std::min(i % round, batches - 1)), buckets);
  }
}

}  // namespace

StepBenchmark benchmark_steps(const config::RunConfig& config, const StepBenchmarkOptions& options,
                              const training::Ranks& ranks) {
  training::check_undelayed(config);
  auto backend = training::make_backend(config, ranks.local);
  const bool on_host = backend->memory_is_host();
  const int unmeasured = on_host ? 2 : 0;
  SyntheticTraining training(config, {options.micro_batch_tokens, options.length},
                             options.steps + unmeasured, ranks, std::move(backend));
  const auto buckets = training.make_buckets(training.replicas(),
                                             training::bucket_options(config, training.model()));
  if (!on_host) warm_up(training, *buckets);

  const comm::Traffic* traffic = ranks.communicator.traffic();
  const auto sent_so_far = [&] { return traffic ? traffic->bytes() : 0; };
  int64_t bytes_sent = 0;
  std::vector<std::vector<int32_t>> lengths;
  std::vector<double> step, forward, backward, waiting, wait, reduce, update, peaks;
  double sequences = 0, tokens = 0, flops = 0, start = 0;
  std::optional<MatrixPeak> peak;
  for (int i = 0; i < options.steps + unmeasured; ++i) {
    const auto number = static_cast<size_t>(i);
    if (i == unmeasured) start = slowest(ranks, seconds_since_process_start());
    const int64_t sent_before = sent_so_far();
    SyntheticTraining::Step times =
        on_host ? training.timed_step(number, *buckets) : training.step(number, *buckets);
    bytes_sent = sent_so_far() - sent_before;
    const double whole = times.seconds;
    if (!on_host && training.knows_phases()) times = training.timed_step(number, *buckets);
    if (i < unmeasured) continue;
    if (!peak) peak.emplace(training.backend());  // later it would delay the first measured step
    const double peak_now = peak->flops_per_second();
    step.push_back(whole);
    forward.push_back(times.compute.forward);
    backward.push_back(times.compute.backward);
    waiting.push_back(times.compute.waiting);
    wait.push_back(times.reduce.wait_seconds);
    reduce.push_back(times.reduce.communication_seconds);
    update.push_back(times.reduce.update_seconds);
    peaks.push_back(peak_now);
    const auto& micro_batches = training.lengths(number);
    lengths.insert(lengths.end(), micro_batches.begin(), micro_batches.end());
    const SyntheticTraining::Work work = training.work(number);
    sequences += static_cast<double>(work.sequences);
    tokens += static_cast<double>(work.tokens);
    flops += work.flops;
  }
  std::array<double, 4> sums{sequences, tokens, flops, median(peaks)};
  ranks.communicator.all_reduce_sum(sums.data(), std::ssize(sums), device::DType::kF64);
  const double steps = options.steps;
  return {.ranks = ranks.size(),
          .device = training.backend().description(),
          .knows_phases = training.knows_phases(),
          .lengths = std::move(lengths),
          .sequences = static_cast<int64_t>(sums[0] / steps + 0.5),
          .tokens = static_cast<int64_t>(sums[1] / steps + 0.5),
          .flops = sums[2] / steps,
          .start = start,
          .step = median(step),
          .forward = median(forward),
          .backward = median(backward),
          .waiting = median(waiting),
          .wait = median(wait),
          .reduce = median(reduce),
          .update = median(update),
          .memory = training.parameter_memory(),
          .bytes_sent = bytes_sent,
          .graphs = training.captured_graphs(),
          .peak_flops_per_second = sums[3],
          .peak_size = peak->size()};
}

}  // namespace strata::bench
