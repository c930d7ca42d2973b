#include "scoring/plots/curve_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace strata::scoring {
namespace {

using drawing::Chart;
using drawing::EndLabel;

drawing::Axis x_axis_of(const std::vector<DrawnSystem>& systems) {
  std::vector<double> all, ends;
  for (const DrawnSystem& system : systems) {
    for (const DrawnRun& run : system.runs) {
      ends.push_back(run.end());
      for (const auto& [x, y] : run.points) all.push_back(x);
    }
  }
  constexpr double kApart = 0.08;
  // Runs may take very different times. The times of evaluations do not matter.
  return drawing::is_far_apart(ends) && std::ranges::min(all) > 0
             ? drawing::time_axis(all)
             : drawing::linear_axis(all, std::ranges::min(all) >= 0, kApart);
}

// The fastest of each submitter come first, then those whose ends are farthest from earlier ones.
std::vector<EndLabel> labels_of(const std::vector<DrawnSystem>& systems,
                                const drawing::Axis& axis) {
  std::vector<double> places;
  for (const DrawnSystem& system : systems) places.push_back(axis.place(system.median().end()));
  constexpr double kTaken = -1;
  std::vector<double> distance(systems.size(), std::numeric_limits<double>::infinity());
  std::vector<size_t> order;
  const auto take = [&](size_t chosen) {
    order.push_back(chosen);
    for (size_t i = 0; i < places.size(); ++i) {
      distance[i] = std::min(distance[i], std::abs(places[i] - places[chosen]));
    }
    distance[chosen] = kTaken;
  };
  std::set<std::string> submitters;
  for (size_t i = 0; i < systems.size(); ++i) {
    if (submitters.insert(systems[i].submitter).second) take(i);
  }
  while (order.size() < systems.size()) {
    take(static_cast<size_t>(std::ranges::max_element(distance) - distance.begin()));
  }
  std::ranges::stable_partition(order, [&](size_t i) { return !systems[i].is_beside; });
  std::vector<EndLabel> labels;
  for (const size_t i : order) {
    const auto& [x, y] = systems[i].median().points.back();
    labels.push_back({systems[i].owner, x, y});
  }
  return labels;
}

// Returns the runs of a system that are drawn: the median run and, from the fastest to the slowest,
// `most` others at even distances.
std::vector<const DrawnRun*> drawn_runs(const DrawnSystem& system, size_t most) {
  std::vector<const DrawnRun*> runs;
  for (const DrawnRun& run : system.runs) runs.push_back(&run);
  if (runs.size() <= most + 1) return runs;
  const DrawnRun* const median = &system.median();
  std::ranges::stable_sort(runs, {}, [](const DrawnRun* run) { return run->end(); });
  std::erase(runs, median);
  std::vector<const DrawnRun*> drawn = {median};
  for (size_t i = 0; i < most; ++i) drawn.push_back(runs[i * (runs.size() - 1) / (most - 1)]);
  return drawn;
}

// The best is the least for a measure that falls, such as an error rate.
std::vector<std::pair<double, double>> best_so_far(std::vector<std::pair<double, double>> points) {
  const bool falls = points.back().second < points.front().second;
  for (size_t i = 1; i < points.size(); ++i) {
    double& value = points[i].second;
    const double before = points[i - 1].second;
    value = falls ? std::min(value, before) : std::max(value, before);
  }
  return points;
}

}  // namespace

bool has_too_many_runs(const std::vector<DrawnSystem>& systems) {
  size_t runs = 0;
  for (const DrawnSystem& system : systems) runs += system.runs.size();
  return runs > kMostRuns;
}

const DrawnRun& DrawnSystem::median() const {
  const auto found = std::ranges::find(runs, curves[median_run(curves)], &DrawnRun::curve);
  if (found != runs.end()) return *found;
  std::vector<const Curve*> drawn;
  for (const DrawnRun& run : runs) drawn.push_back(run.curve);
  return runs[median_run(drawn)];
}

std::vector<std::pair<double, double>> points_of(const Curve& curve, CurveAxis axis) {
  std::vector<std::pair<double, double>> points;
  for (const Evaluation& evaluation : curve.evaluations) {
    if (axis == CurveAxis::kMinutes) points.emplace_back(evaluation.minutes, evaluation.accuracy);
    if (axis == CurveAxis::kSamples && evaluation.samples) {
      points.emplace_back(*evaluation.samples, evaluation.accuracy);
    }
  }
  return points;
}

Chart curve_chart(const std::vector<DrawnSystem>& systems, std::optional<double> target,
                  CurveAxis axis, const std::string& benchmark) {
  Chart chart;
  std::vector<const Curve*> curves;
  const bool thinned = has_too_many_runs(systems);
  for (const DrawnSystem& system : systems) {
    const DrawnRun& median = system.median();
    for (const DrawnRun& run : system.runs) curves.push_back(run.curve);
    for (const DrawnRun* run : drawn_runs(system, thinned ? kRunsOfMany : system.runs.size())) {
      chart.lines.push_back({.owner = system.owner,
                             .points = thinned ? best_so_far(run->points) : run->points,
                             .dashed = !run->curve->converged,
                             .bold = run == &median,
                             .tip = run->tip});
    }
  }
  const AccuracyAxis accuracies = AccuracyAxis::of(curves, target);
  chart.x = x_axis_of(systems);
  chart.y = accuracies.axis();
  const bool counts_samples = benchmark == "bert" || benchmark.empty();
  chart.x_title = axis == CurveAxis::kMinutes ? "minutes since run_start"
                  : counts_samples            ? "samples"
                                              : "epochs or samples, as logged";
  chart.y_title = benchmark == "bert" ? "masked-LM accuracy" : "eval_accuracy, as logged";
  if (thinned) chart.y_title += ", best so far";
  chart.labels = labels_of(systems, chart.x);
  if (target) chart.levels.push_back({*target, fmt::format("target {:.6g}", *target)});
  if (accuracies.break_at()) {
    chart.band = {accuracies.stretched_from(), accuracies.stretched_to(),
                  fmt::format("stretched {:.0f} x", accuracies.stretch())};
  }
  return chart;
}

}  // namespace strata::scoring
