// Series of published systems: some calibrate a prediction, the others check it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/published/published_system.h"
#include "plan/search.h"

namespace strata::plan {

// Systems with the same submitter, round, accelerator, form factor, accelerators per node, network
// between nodes, framework and division.
struct Series {
  std::vector<PublishedSystem> calibrated;  // three systems: see make_series
  std::vector<PublishedSystem> rest;
};

// Sorts systems into series and chooses three systems to calibrate each: the one with the fewest
// ranks, the one with the fewest samples per rank (the largest of several), and the one closest to
// eight times the first's ranks. Leaves out series of fewer than four systems and series that
// cannot be calibrated; adds a line with the reason to `left_out`.
std::vector<Series> make_series(std::vector<PublishedSystem> systems,
                                std::vector<std::string>& left_out);

// Returns a planner with calibrated step and start, reference samples, and the imbalance of
// `strategy`. Throws Error as calibrate() does.
Planner fit_published(std::span<const PublishedSystem> systems, const std::string& strategy);

// A prediction beside the published values. Errors are predicted over published - 1.
struct CheckedSystem {
  PublishedSystem system;
  bool calibrated = false;              // used for the calibration
  std::string extrapolation;            // why it is an extrapolation; empty if it is none
  Prediction prediction;                // its run uses the published samples
  double between_evaluations = 0;       // predicted step with its share of evaluations
  std::optional<RunTime> by_reference;  // for the reference points' samples, if there are any

  double step_error() const { return between_evaluations / system.step.seconds - 1; }
  double run_error() const { return prediction.run.total / system.time_to_train - 1; }
  std::optional<double> reference_error() const;
};

CheckedSystem check_system(const Planner& planner, std::span<const PublishedSystem> calibrated,
                           const PublishedSystem& system);

// Shares of the published values.
struct Deviation {
  double median = 0, worst = 0;
};
struct CheckSummary {
  size_t systems = 0;  // systems that are neither calibrated nor extrapolated
  size_t held = 0;     // systems among these whose time to train lies in the predicted interval
  Deviation step, run, reference;
};
CheckSummary summarise(std::span<const CheckedSystem> checked);

}  // namespace strata::plan
