// Pictures of runs and scores.
#pragma once

#include <optional>
#include <vector>

#include "drawing/picture.h"
#include "scoring/curves.h"
#include "scoring/plots/curve_chart.h"
#include "scoring/score.h"

namespace strata::scoring {

struct CurvePlotOptions {
  CurveAxis axis = CurveAxis::kMinutes;
  // Draws a line at this accuracy. Absent: the accuracy that all logs name, or MLPerf's target if
  // none does.
  std::optional<double> target;
};

// Draws a curve_chart with a label per series and the colours of colours_for. Throws Error if
// nothing is left to draw, or runs have several benchmarks.
drawing::Plot plot_curves(const std::vector<Curve>& curves, const CurvePlotOptions& options = {});

// Draws a row per system, fastest first: its score, the times of its runs, and the sequences per
// second of an accelerator if known. If scores are far apart, also draws the spread of runs around
// their mean. Throws Error if no folder has a time to train, or they have several benchmarks.
drawing::Plot plot_scores(const std::vector<Score>& scores);

}  // namespace strata::scoring
