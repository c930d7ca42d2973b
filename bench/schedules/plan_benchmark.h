// Steps that `strata plan` predicts on this machine, beside measured ones.
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

// Micro-batches have a given number of tokens; so many of them count as a sample.
inline constexpr double kSampleTokens = 100;

struct PlanBenchmarkOptions {
  int steps = 2;                   // measured of every layout, after one that is not
  int64_t micro_batch_tokens = 0;  // of every micro-batch
  double sleeping_flops = 0;       // of a device that sleeps; 0: device.backend
  std::vector<int> ranks;          // at most those of the job; empty: 1, 2, ... of them
  std::vector<int> micro_batches = {1, 2, 4, 8};
  // Bytes a second of a rank. Empty: those at which two ranks' all-reduce takes twice a
  // micro-batch's backward, as long as it, and a tenth.
  std::vector<double> speeds;
  std::function<void(size_t done, size_t total)> progress;
};

// Seconds; the median of the slowest rank.
struct PlannedStep {
  std::string name;  // "layer, recompute"
  int ranks = 1;
  int micro_batches = 1;
  config::ClipMode clip = config::ClipMode::kNone;
  double bytes_per_second = 0;
  double measured = 0;
  plan::StepTime predicted;

  double error() const { return predicted.total() / measured - 1; }
};

// Absolute values.
struct PlanDeviation {
  double median = 0, worst = 0;
};
PlanDeviation deviation_of(const std::vector<PlannedStep>& steps);

struct PlanBenchmark {
  std::string device;
  int64_t micro_batch_tokens = 0;
  plan::Calibration calibration;  // a sample: kSampleTokens
  std::vector<plan::MeasuredStep> calibrated;
  plan::ModelShape shape;
  std::vector<PlannedStep> steps;
  std::vector<Skipped> skipped;
};

// Calibrates from steps of one rank at two batch sizes, then measures every layout. All ranks call
// together; those that a layout does not need wait, so that only the first has all figures. Throws
// Error for one rank.
PlanBenchmark benchmark_plan(const config::RunConfig& config, const PlanBenchmarkOptions& options,
                             const training::Ranks& ranks);

}  // namespace strata::bench
