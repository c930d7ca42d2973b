#include "bench/step_benchmark.h"

#include <array>

#include "bench/devices/device_peaks.h"
#include "bench/synthetic_training.h"
#include "training/options.h"
#include "training/trainer.h"

namespace strata::bench {
StepBenchmark benchmark_steps(const config::RunConfig& config, const StepBenchmarkOptions& options,
                              const training::Ranks& ranks) {
  training::check_undelayed(config);
  constexpr int kUnmeasured = 2;
  SyntheticTraining training(config, {options.micro_batch_tokens, options.length},
                             options.steps + kUnmeasured, ranks);
  const auto buckets = training.make_buckets(training.replicas(),
                                             training::bucket_options(config, training.model()));
  const MatrixPeak peak(training.backend());
  if (!training.backend().memory_is_host()) {
    // Libraries choose their algorithms, and graphs are recorded, one in each of the model's slots.
    constexpr int kTimes = 4;
    for (int i = 0; i < kTimes * (options.steps + kUnmeasured); ++i) {
      training.step(static_cast<size_t>(i / kTimes), *buckets);
    }
  }

  const comm::Traffic* traffic = ranks.communicator.traffic();
  const auto sent_so_far = [&] { return traffic ? traffic->bytes() : 0; };
  int64_t bytes_sent = 0;
  std::vector<std::vector<int32_t>> lengths;
  std::vector<double> step, forward, backward, waiting, wait, reduce, update, peaks;
  double sequences = 0, tokens = 0, flops = 0;
  for (int i = 0; i < options.steps + kUnmeasured; ++i) {
    const auto number = static_cast<size_t>(i);
    const bool on_host = training.backend().memory_is_host();
    const int64_t sent_before = sent_so_far();
    SyntheticTraining::Step times =
        on_host ? training.timed_step(number, *buckets) : training.step(number, *buckets);
    bytes_sent = sent_so_far() - sent_before;
    const double whole = times.seconds;
    if (!on_host && training.knows_phases()) times = training.timed_step(number, *buckets);
    const double peak_now = peak.flops_per_second();
    if (i < kUnmeasured) continue;
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
          .peak_size = peak.size()};
}

}  // namespace strata::bench
