// The chart of accuracy over time or samples, in pictures and in reports.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drawing/chart.h"
#include "scoring/curves.h"
#include "scoring/plots/accuracy_axis.h"

namespace strata::scoring {

enum class CurveAxis : uint8_t { kMinutes, kSamples };

struct DrawnRun {
  const Curve* curve;
  std::vector<std::pair<double, double>> points;  // value on the x axis, accuracy
  std::string tip;

  double end() const { return points.back().first; }
};

// The runs of a system.
struct DrawnSystem {
  drawing::Owner owner;  // its name is the label
  std::string submitter;
  std::vector<const Curve*> curves;  // curves with evaluations, drawn or not
  std::vector<DrawnRun> runs;        // at least one
  bool is_beside = false;            // shown beside the others, with a label if they leave room

  // Returns the median of all `curves`, so that it is the same over time and over samples, or the
  // median of the drawn ones if that run is not drawn.
  const DrawnRun& median() const;
};

// Returns a run's evaluations over the axis.
std::vector<std::pair<double, double>> points_of(const Curve& curve, CurveAxis axis);

// More than kMostRuns runs would cover each other. Of each system only its median run and
// kRunsOfMany others, from the fastest to the slowest, are then drawn. Their lines show the best
// accuracy so far.
inline constexpr size_t kMostRuns = 600, kRunsOfMany = 4;
bool has_too_many_runs(const std::vector<DrawnSystem>& systems);

// Draws a line per run, thick for a system's median run and dashed for one that did not converge,
// labels at the ends of median runs, and the target. The range near the target is stretched
// (AccuracyAxis). The x axis is logarithmic if some runs are far longer than others. `systems` are
// sorted by importance.
drawing::Chart curve_chart(const std::vector<DrawnSystem>& systems, std::optional<double> target,
                           CurveAxis axis, const std::string& benchmark);

}  // namespace strata::scoring
