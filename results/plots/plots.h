// Pictures of runs and scores.
#pragma once

#include <optional>
#include <vector>

#include "drawing/picture.h"
#include "results/curves.h"
#include "results/plots/curve_chart.h"
#include "results/score.h"

namespace strata::results {

struct CurvePlotOptions {
  CurveAxis axis = CurveAxis::kMinutes;
  // A line at this accuracy; else at what all logs say, or, where none says it, at MLPerf's target.
  std::optional<double> target;
};

// A curve_chart, a label a series, with the colours of colours_for. Throws Error where nothing is
// left to draw, or runs are of several benchmarks.
drawing::Plot plot_curves(const std::vector<Curve>& curves, const CurvePlotOptions& options = {});

// A row a system, fastest first: its score and the times of its runs; where scores are far apart,
// the spread of runs around their mean; where known, sequences a second of an accelerator. Throws
// Error where no folder has a time to train, or they are of several benchmarks.
drawing::Plot plot_scores(const std::vector<Score>& scores);

}  // namespace strata::results
