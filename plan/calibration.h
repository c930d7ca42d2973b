// The cost of a step on a machine, fitted to measured steps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace strata::plan {

// Samples in MLPerf's evaluation set for BERT, and the time of an evaluated sample over that of a
// training sample: forward takes a third of forward and backward.
inline constexpr double kEvaluationSamples = 10'000;
inline constexpr double kForwardShare = 1.0 / 3;

// A system's median step, in seconds.
struct MeasuredStep {
  std::string name;  // name of the file or the system
  int64_t ranks = 1;
  int64_t nodes = 1;
  double batch = 0;  // samples, over all ranks
  int64_t micro_batches = 1;
  double imbalance = 1;                      // the slowest rank's work over the mean
  double seconds = 0;                        // time of a step, with its share of evaluations
  double update = 0;                         // the optimizer's part of `seconds`; 0: not measured
  double steps_per_evaluation = 0;           // 0: `seconds` holds no evaluation
  std::optional<double> evaluation_seconds;  // absent: not measured
  // Numbers of parameters that would take the measured bytes; empty: not measured.
  std::vector<double> parameters = {};

  double samples_per_rank() const { return batch / static_cast<double>(ranks); }
};

// A step of b samples per rank in n micro-batches with imbalance r takes
//   per_sample b r + per_step (1 + repeated (n - 1)) + between_nodes (only on several nodes).
struct StepCosts {
  double per_sample = 0;     // seconds of a sample on a rank
  double per_step = 0;       // constant seconds of a step with one micro-batch
  double between_nodes = 0;  // extra seconds of a step on several nodes, less a given network's
  double repeated = 0.5;     // share of per_step that every further micro-batch repeats
  double update = 0;         // the optimizer's part of per_step; 0: not known
};

// Values or errors of the costs, in this order: per_sample, per_step, between_nodes.
inline constexpr size_t kCosts = 3;
using CostTerms = std::array<double, kCosts>;

// The note of a calibration without a step on several nodes.
inline constexpr const char* kNeedsNetwork =
    "all steps ran on one node; give the cost of several nodes with --network";

struct Calibration {
  StepCosts costs;
  double evaluation_constant = 0;  // constant seconds of an evaluation
  // Standard deviation of a calibrated step, as a share of it. predicted_error() adds to it.
  double step_error = 0;
  std::string step_error_ground;               // source of step_error
  std::vector<double> residuals;               // fitted over measured - 1, for each measured step
  std::vector<std::string> notes;              // costs that the measurements could not tell
  int64_t ranks_per_node = 1;                  // ratio in the measured system with the most nodes
  int64_t most_ranks = 0;                      // ranks of the largest measured system; 0: not known
  std::array<CostTerms, kCosts> covariance{};  // covariance of the costs, in seconds squared
  // False if steps ran on several nodes, and all steps fit without per_step as well as without
  // between_nodes.
  bool tells_nodes_apart = true;
};

// Returns the seconds of an evaluation on so many ranks: per_sample / 3 for each of a rank's
// samples, plus the constant.
double evaluation_seconds(const Calibration& calibration, int64_t ranks);

// Returns the standard deviation of a predicted step of `seconds`, as a share of it. It joins
// step_error, the errors of the costs, and a hundredth for every doubling beyond most_ranks.
// `shares` multiply the costs: samples with imbalance, repeats of per_step, and 1 on several nodes.
double predicted_error(const Calibration& calibration, const CostTerms& shares, double seconds,
                       int64_t ranks);

// Fits least squares of the relative errors, with no cost below zero. `repeated` is half, because
// so few systems cannot determine it, or zero if all micro-batches hold equally many samples: their
// time is then part of a sample's. `known` are seconds of each step that no cost has to explain,
// such as communication on a given network; empty means none. Throws Error with the reason if the
// steps have one batch size per rank, or do not take longer for more samples.
Calibration calibrate(std::span<const MeasuredStep> steps, std::span<const double> known = {});

}  // namespace strata::plan
