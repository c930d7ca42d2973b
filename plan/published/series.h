// Series of published systems: some to calibrate from, the others to hold the prediction against.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/published/published_system.h"
#include "plan/search.h"

namespace strata::plan {

// Systems of one submitter, round, accelerator, framework and division.
struct Series {
  std::vector<PublishedSystem> calibrated;  // three: see choose_calibration
  std::vector<PublishedSystem> rest;
};

// Sorts systems into series, and chooses what to calibrate each from: the system of the fewest
// ranks, that of the fewest samples a rank (of several the largest), and of the others the one
// closest to eight times the first's ranks. Series of fewer than four systems, and those that
// cannot be calibrated from, are left out; `left_out` says why, a line each.
std::vector<Series> make_series(std::vector<PublishedSystem> systems,
                                std::vector<std::string>& left_out);

// A planner of calibrated step, start and reference samples, whose imbalance is that of `strategy`.
// Throws Error as calibrate() does.
Planner fit_published(std::span<const PublishedSystem> systems, const std::string& strategy);

// A prediction beside what was published. Errors are predicted over published - 1.
struct CheckedSystem {
  PublishedSystem system;
  bool calibrated = false;              // the prediction was calibrated from it
  std::string extrapolation;            // why it is one; empty where it is none
  Prediction prediction;                // its run is of the published samples
  double between_evaluations = 0;       // predicted seconds a step, with its share of an evaluation
  std::optional<RunTime> by_reference;  // of the reference points' samples, where there are some

  double step_error() const { return between_evaluations / system.step.seconds - 1; }
  double run_error() const { return prediction.run.total / system.time_to_train - 1; }
  std::optional<double> reference_error() const;
};

CheckedSystem check_system(const Planner& planner, std::span<const PublishedSystem> calibrated,
                           const PublishedSystem& system);

// Both shares of what was published.
struct Deviation {
  double median = 0, worst = 0;
};
struct CheckSummary {
  size_t systems = 0;  // neither calibrated from nor an extrapolation
  Deviation step, run, reference;
};
CheckSummary summarise(std::span<const CheckedSystem> checked);

}  // namespace strata::plan
