// Pictures of runs and scores.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/curves.h"
#include "results/gnuplot.h"
#include "results/score.h"

namespace strata::results {

enum class CurveAxis : uint8_t { kMinutes, kSamples };

struct CurvePlotOptions {
  CurveAxis axis = CurveAxis::kMinutes;
  std::optional<double> target;  // a line at this accuracy; else at what all logs say, if they do
};

// A picture, how much is in it, and what is not and why, a line each.
struct Plot {
  Picture picture;
  size_t drawn = 0;
  std::vector<std::string> left_out;
};

// Accuracy over time or samples: a line a run, a colour a series (after eight other points as
// well); dashed where a run did not converge; on a logarithmic axis where some runs are far longer
// than others. Throws Error where nothing is left to draw, or runs are of several benchmarks.
Plot plot_curves(const std::vector<Curve>& curves, const CurvePlotOptions& options = {});

// Bars, fastest first: minutes to train and, where known, sequences a second of an accelerator.
// Throws Error where no folder has a time to train, or they are of several benchmarks.
Plot plot_scores(const std::vector<Score>& scores);

}  // namespace strata::results
