// The layout of ranks that is predicted to reach the target first, and the cheapest one that takes
// hardly longer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plan/run_time.h"
#include "plan/step_time.h"

namespace strata::plan {

// A layout of ranks and what it is predicted to take.
struct Prediction {
  StepInput input;
  StepTime step;
  RunTime run;
  Samples samples;
  double memory = 0;  // bytes of a rank

  // What a run costs: ranks times seconds.
  double rank_seconds() const { return static_cast<double>(input.ranks) * run.total; }
};

// What is the same for all predictions.
struct Planner {
  std::vector<MeasuredStep> measured;  // what `calibration` was fitted to
  Calibration calibration;
  ModelShape shape;
  StartCosts start;
  std::string strategy = "planned";
  std::optional<Link> network;
  int64_t ranks_per_node = 1;
  // Samples to converge at a batch size.
  std::function<Samples(double batch)> samples;

  Prediction predict(int64_t ranks, double batch, const Layout& layout) const;
  // The run whose steps take `step`; evaluations come at MLPerf's interval.
  RunInput run_input(const StepInput& input, const StepTime& step,
                     const Samples& run_samples) const;
};

struct SearchSpace {
  std::vector<int64_t> ranks;
  std::vector<double> batches;
  double memory = 0;  // bytes of a rank, at most
  // The same for all layouts.
  Clip clip = Layout{}.clip;
  bool recompute = false;
};

struct SearchResult {
  size_t tried = 0;    // layouts
  size_t fitting = 0;  // layouts that fit the memory
  Prediction fastest;
  Prediction cheapest;  // in rank-seconds, of those at most 10 % slower than the fastest
};

// Every number of stages that divides ranks and layers, every accumulation that divides a replica's
// batch (with stages at least as many), both orders or both pipelines, and every sharding
// that these and the clip mode allow (refusal() of layout_checks.h). Throws Error where none fits
// into the memory, with the least that one needs.
SearchResult search(const Planner& planner, const SearchSpace& space);

}  // namespace strata::plan
