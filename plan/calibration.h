// What a step costs on a machine, fitted to measured steps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace strata::plan {

// Samples of MLPerf's evaluation set for BERT, and the share of a training sample's time that an
// evaluated one takes: forward alone, a third of forward and backward.
inline constexpr double kEvaluationSamples = 10'000;
inline constexpr double kForwardShare = 1.0 / 3;

// The median step of a system. Seconds.
struct MeasuredStep {
  std::string name;  // of the file or the system
  int64_t ranks = 1;
  int64_t nodes = 1;
  double batch = 0;  // samples, over all ranks
  int64_t micro_batches = 1;
  double imbalance = 1;             // the slowest rank's work over the mean
  double seconds = 0;               // of a step, with its share of an evaluation if there is one
  double update = 0;                // the optimizer's part of it; 0: not measured
  double steps_per_evaluation = 0;  // 0: `seconds` holds no evaluation
  std::optional<double> evaluation_seconds;  // where it was measured

  double samples_per_rank() const { return batch / static_cast<double>(ranks); }
};

// A step of b samples a rank in n micro-batches takes
//   per_sample b r + per_step (1 + repeated (n - 1)) + between_nodes, if there are several nodes,
// where r is the imbalance.
struct StepCosts {
  double per_sample = 0;     // seconds of a sample on a rank
  double per_step = 0;       // seconds of a step, whatever it holds, with one micro-batch
  double between_nodes = 0;  // seconds that a step takes longer on several nodes
  double repeated = 0.5;     // share of per_step that every further micro-batch takes again
  double update = 0;         // the optimizer's part of per_step; 0: not known
};

struct Calibration {
  StepCosts costs;
  double evaluation_constant = 0;  // seconds of an evaluation, whatever it holds
  double step_error = 0;           // one standard deviation of a predicted step, as a share of it
  std::string step_error_ground;   // where that number comes from
  std::vector<double> residuals;   // fitted over measured - 1, of each measured step
  std::vector<std::string> notes;  // what the measurements could not tell
  int64_t ranks_per_node = 1;      // of the measured system with the most nodes
};

// Seconds of an evaluation on so many ranks: per_sample / 3 for each of a rank's samples, and the
// constant.
double evaluation_seconds(const Calibration& calibration, int64_t ranks);

// Least squares of the relative errors, no cost below zero. `repeated` is half (it cannot be
// fitted to so few systems), or nothing where all micro-batches hold equally many samples: their
// time is then part of a sample's. Throws Error, with the reason, where the steps are of one batch
// size a rank, or do not take longer for more samples.
Calibration calibrate(std::span<const MeasuredStep> steps);

}  // namespace strata::plan
