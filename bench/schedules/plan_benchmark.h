// Measures steps on this machine, and compares them with the steps that `strata plan` predicts and
// `strata bench simulate` simulates.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/schedules/section.h"
#include "config/run_config.h"
#include "plan/calibration.h"
#include "plan/step_time.h"
#include "training/ranks/ranks.h"

namespace strata::bench {

// Tokens per sample: micro-batches have a given number of tokens, which are converted to samples.
inline constexpr double kSampleTokens = 100;

struct PlanBenchmarkOptions {
  int steps = 2;                   // measured steps per layout, after one not measured
  int64_t micro_batch_tokens = 0;  // tokens of every micro-batch
  double sleeping_flops = 0;       // speed of a sleeping device; 0: device.backend
  std::vector<int> ranks;          // at most the job's ranks; empty: 1, 2, ... of them
  std::vector<int> micro_batches = {1, 2, 4, 8};
  // A rank's bytes per second. Empty: the speeds at which an all-reduce of two ranks takes 2, 1 and
  // 0.1 times as long as a micro-batch's backward.
  std::vector<double> speeds;
  std::function<void(size_t done, size_t total)> progress;
};

// The slowest rank's median, in seconds.
struct PlannedStep {
  std::string name;  // "layer, recompute"
  int ranks = 1;
  int micro_batches = 1;
  config::ClipMode clip = config::ClipMode::kNone;
  double bytes_per_second = 0;
  double measured = 0;
  plan::StepTime predicted;
  double simulated = 0;

  double error() const { return predicted.total() / measured - 1; }
  double simulation_error() const { return simulated / measured - 1; }
};

// Median and maximum of the absolute relative errors.
struct PlanDeviation {
  double median = 0, worst = 0;
};
// `error` is one of the two of PlannedStep.
PlanDeviation deviation_of(const std::vector<PlannedStep>& steps,
                           double (PlannedStep::*error)() const = &PlannedStep::error);

struct PlanBenchmark {
  std::string device;
  int64_t micro_batch_tokens = 0;
  plan::Calibration calibration;  // one sample has kSampleTokens tokens
  std::vector<plan::MeasuredStep> calibrated;
  // Seconds that a message between two ranks takes in addition to the link's. Simulations use it.
  double message_seconds = 0;
  plan::ModelShape shape;
  std::vector<PlannedStep> steps;
  std::vector<Skipped> skipped;
};

// Calibrates with steps of one rank at two batch sizes, then measures every layout. All ranks call
// together. Ranks that a layout does not need wait, so that only the first has all figures. Throws
// Error for one rank.
PlanBenchmark benchmark_plan(const config::RunConfig& config, const PlanBenchmarkOptions& options,
                             const training::Ranks& ranks);

}  // namespace strata::bench
