// Searches for the layout of ranks that should reach the target first, and for the cheapest one
// that is hardly slower.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plan/run_time.h"
#include "plan/step_time.h"

namespace strata::plan {

inline constexpr int64_t kMostTimesMeasured = 1024;

// A layout of ranks and its predicted times.
struct Prediction {
  StepInput input;
  StepTime step;
  RunTime run;
  Samples samples;
  double memory = 0;  // bytes per rank
  // Why this lies beyond the measured steps: more ranks, or other samples a rank; empty if it does
  // not.
  std::string extrapolation;

  // Returns the cost of a run: ranks times seconds.
  double rank_seconds() const { return static_cast<double>(input.ranks) * run.total; }
};

// The parameters that all predictions share.
struct Planner {
  std::vector<MeasuredStep> measured;  // the data that `calibration` was fitted to
  Calibration calibration;
  ModelShape shape;
  StartCosts start;
  std::string strategy = "planned";
  std::optional<Network> network;
  int64_t ranks_per_node = 1;
  // Returns the samples to converge at a batch size.
  std::function<Samples(double batch)> samples;

  // Returns how many ranks can be predicted: kMostTimesMeasured times the most that were measured.
  int64_t most_ranks() const;
  Prediction predict(int64_t ranks, double batch, const Layout& layout) const;
  // Returns the run with steps of `step` and evaluations at MLPerf's interval.
  RunInput run_input(const StepInput& input, const StepTime& step,
                     const Samples& run_samples) const;
};

struct SearchSpace {
  std::vector<int64_t> ranks;
  std::vector<double> batches;
  double memory = 0;  // upper limit in bytes per rank
  // These apply to all layouts.
  Clip clip = Layout{}.clip;
  bool recompute = false;
};

struct SearchResult {
  size_t tried = 0;    // number of layouts
  size_t fitting = 0;  // layouts that fit the memory
  Prediction fastest;
  Prediction cheapest;  // fewest rank-seconds among layouts at most 10 % slower than the fastest
};

// Tries every number of stages that divides ranks and layers, every accumulation that divides a
// replica's batch (with stages at least as many), both orders or both pipelines, and every sharding
// that these and the clip mode allow (refusal() of layout_checks.h). Throws Error with the least
// memory needed if no layout fits.
SearchResult search(const Planner& planner, const SearchSpace& space);

}  // namespace strata::plan
