// Pictures of runs and scores.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/curves.h"
#include "results/plots/gnuplot.h"
#include "results/score.h"

namespace strata::results {

enum class CurveAxis : uint8_t { kMinutes, kSamples };

struct CurvePlotOptions {
  CurveAxis axis = CurveAxis::kMinutes;
  // A line at this accuracy; else at what all logs say, or, where none says it, at MLPerf's target.
  std::optional<double> target;
};

// A picture, how much is in it, and what is not and why, a line each.
struct Plot {
  Picture picture;
  size_t drawn = 0;
  std::vector<std::string> left_out;
};

// Accuracy over time or samples: a thin line a run, dashed where it did not converge, and a thick
// one for the median run of a series, at whose end stands the label. Colours are those of
// colour_numbers. The range near the target is stretched (AccuracyAxis); time is logarithmic where some runs are far
// longer than others. Throws Error where nothing is left to draw, or runs are of several
// benchmarks.
Plot plot_curves(const std::vector<Curve>& curves, const CurvePlotOptions& options = {});

// A row a system, fastest first: its score and the times of its runs; where scores are far apart,
// the spread of runs around their mean; where known, sequences a second of an accelerator. Throws
// Error where no folder has a time to train, or they are of several benchmarks.
Plot plot_scores(const std::vector<Score>& scores);

}  // namespace strata::results
