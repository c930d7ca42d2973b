#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text/counts.h"
#include "compliance/checks/published_target.h"
#include "scoring/plots/plot_parts.h"
#include "scoring/plots/plots.h"
#include "scoring/system_names.h"

namespace strata::scoring {
namespace {

using drawing::Key;
using drawing::Shape;

std::string why_left_out(const Curve& curve) {
  if (!curve.problem.empty()) return "cannot be read: " + curve.problem;
  if (!curve.evaluations.empty()) return "evaluations without sample counts";
  if (curve.has_other_values) return "has an eval_accuracy that is not a number";
  return "without evaluations";
}

// Collects a line for each log that is left out, or for all logs of a folder with the same reason.
class LeftOut {
 public:
  void add(const Curve& curve) {
    const std::string reason = why_left_out(curve);
    std::vector<std::string>& logs = logs_[{curve.log.parent_path().string(), reason}];
    if (logs.empty()) order_.push_back({curve.log.parent_path().string(), reason});
    logs.push_back(curve.log.string());
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const auto& place : order_) {
      const std::vector<std::string>& logs = logs_.at(place);
      const auto& [folder, reason] = place;
      lines.push_back(logs.size() == 1
                          ? fmt::format("{}: {}", logs.front(), reason)
                          : fmt::format("{}: {}: {}", folder, counted(logs.size(), "log"), reason));
    }
    return lines;
  }

 private:
  using Place = std::pair<std::string, std::string>;  // folder and reason
  std::map<Place, std::vector<std::string>> logs_;
  std::vector<Place> order_;
};

void name_systems(std::vector<DrawnSystem>& systems) {
  constexpr size_t kLongestName = 46;
  std::vector<std::string> names;
  for (const DrawnSystem& system : systems) names.push_back(system.owner.name);
  names = drawing::shortened_apart(names, kLongestName);
  for (size_t i = 0; i < systems.size(); ++i) {
    const Curve& curve = *systems[i].runs.front().curve;
    systems[i].owner.name = names[i];
    systems[i].owner.detail = accelerators_in_short(curve.accelerators, curve.accelerator);
  }
}

// Assigns colours in the order of median runs by their time, whatever the axis is.
void colour_systems(std::vector<DrawnSystem>& systems) {
  std::vector<DrawnSystem*> order;
  for (DrawnSystem& system : systems) order.push_back(&system);
  std::ranges::stable_sort(order, {}, [](const DrawnSystem* system) {
    return system->median().curve->evaluations.back().minutes;
  });
  std::vector<drawing::NamedSystem> names;
  for (const DrawnSystem* system : order) names.push_back({system->owner.name, system->submitter});
  const std::vector<int> colours = drawing::colours_for(names);
  for (size_t i = 0; i < order.size(); ++i) order[i]->owner.colour = colours[i];
}

// Returns the systems, fastest first.
std::vector<DrawnSystem> systems_of(const std::vector<Curve>& curves, CurveAxis axis,
                                    LeftOut& left_out) {
  std::vector<DrawnSystem> systems;
  std::map<std::string, size_t> number_of;
  std::map<std::string, std::vector<const Curve*>> with_evaluations;  // by series
  for (const Curve& curve : curves) {
    if (!curve.evaluations.empty()) with_evaluations[curve.series].push_back(&curve);
    auto points = points_of(curve, axis);
    if (points.empty()) {
      left_out.add(curve);
      continue;
    }
    const auto [number, first] = number_of.emplace(curve.series, systems.size());
    if (first) {
      systems.push_back(
          {drawing::Owner::coloured(-1, curve.series), curve.submitter, {}, {}, false});
    }
    systems[number->second].runs.push_back({&curve, std::move(points), curve.log.string()});
  }
  for (DrawnSystem& system : systems) system.curves = with_evaluations[system.owner.name];
  name_systems(systems);
  colour_systems(systems);
  std::ranges::stable_sort(systems, {},
                           [](const DrawnSystem& system) { return system.median().end(); });
  return systems;
}

std::vector<const Curve*> curves_of(const std::vector<DrawnSystem>& systems) {
  std::vector<const Curve*> curves;
  for (const DrawnSystem& system : systems) {
    for (const DrawnRun& run : system.runs) curves.push_back(run.curve);
  }
  return curves;
}

// Returns the target that all logs name, or MLPerf's if none names one.
std::optional<double> target_of(const std::vector<const Curve*>& curves) {
  const Curve& first = *curves.front();
  const auto of = [](const Curve& curve) {
    return curve.target ? curve.target : compliance::published_target(curve.benchmark, curve.round);
  };
  for (const Curve* curve : curves) {
    if (curve->target != first.target || of(*curve) != of(first)) return std::nullopt;
  }
  return of(first);
}

std::vector<Key> legend_of(const std::vector<DrawnSystem>& systems,
                           const std::vector<const Curve*>& curves, bool has_target) {
  std::vector<Key> legend;
  if (std::ranges::any_of(systems, [](const auto& system) { return system.runs.size() > 1; })) {
    legend.push_back({Shape::kLine, -1, "median run"});
  }
  if (std::ranges::any_of(curves, [](const Curve* curve) { return !curve->converged; })) {
    legend.push_back({Shape::kDashed, -1, has_target ? "target not reached" : "no success"});
  }
  if (has_too_many_runs(systems)) {
    legend.push_back({Shape::kNone, -1,
                      fmt::format("best accuracy so far; at most {} runs per system, the fastest "
                                  "and the slowest among them",
                                  kRunsOfMany + 1)});
  }
  return legend;
}

std::string title_of(size_t systems, const std::vector<const Curve*>& curves,
                     const std::string& benchmark, CurveAxis axis) {
  std::set<std::string> rounds;
  for (const Curve* curve : curves) rounds.insert(round_in_short(curve->round));
  std::string title = benchmark.empty() ? "" : benchmark + ", ";
  if (!rounds.contains("")) {
    title += fmt::format("MLPerf Training {}, ", fmt::join(rounds, ", "));
  }
  return title + fmt::format("accuracy over {}: {}, {}",
                             axis == CurveAxis::kMinutes ? "time" : "samples",
                             counted(systems, "system"), counted(curves.size(), "run"));
}

}  // namespace

drawing::Plot plot_curves(const std::vector<Curve>& curves, const CurvePlotOptions& options) {
  drawing::Plot plot;
  LeftOut left_out;
  const std::vector<DrawnSystem> systems = systems_of(curves, options.axis, left_out);
  plot.left_out = left_out.lines();
  if (systems.empty()) {
    fail("there is nothing to plot: {}", curves.empty() ? "no runs" : plot.left_out.front());
  }
  const std::vector<const Curve*> drawn = curves_of(systems);
  const std::string benchmark =
      only_benchmark(drawn, [](const Curve* curve) { return curve->benchmark; });
  const auto target = options.target ? options.target : target_of(drawn);
  drawing::Chart chart = curve_chart(systems, target, options.axis, benchmark);
  chart.width = drawing::kFileWidth;
  chart.legend = legend_of(systems, drawn, target.has_value());
  plot.drawn = chart.lines.size();
  plot.picture =
      drawing::titled(title_of(systems.size(), drawn, benchmark, options.axis), {xy_chart(chart)});
  return plot;
}

}  // namespace strata::scoring
