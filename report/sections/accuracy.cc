#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/timing.h"
#include "report/sections/section.h"
#include "results/plots/accuracy_axis.h"
#include "results/published_target.h"

namespace strata::report {
namespace {

using results::Curve;
using results::Evaluation;

struct DrawnRun {
  const ReportedFolder* folder;
  const Curve* curve;
  std::vector<std::pair<double, double>> points;  // x of the axis, accuracy
};

enum class Over : uint8_t { kMinutes, kSamples };

std::vector<DrawnRun> drawn_runs(const std::vector<const ReportedFolder*>& folders, Over over) {
  std::vector<DrawnRun> runs;
  for (const ReportedFolder* folder : folders) {
    for (const ReportedRun& run : folder->runs) {
      DrawnRun drawn{folder, &run.curve, {}};
      for (const Evaluation& evaluation : run.curve.evaluations) {
        if (over == Over::kMinutes)
          drawn.points.emplace_back(evaluation.minutes, evaluation.accuracy);
        if (over == Over::kSamples && evaluation.samples) {
          drawn.points.emplace_back(*evaluation.samples, evaluation.accuracy);
        }
      }
      if (!drawn.points.empty()) runs.push_back(std::move(drawn));
    }
  }
  return runs;
}

// What all logs name; where none names one, the rules' for the benchmark.
std::optional<double> target_of(const std::vector<DrawnRun>& runs, const std::string& benchmark) {
  const auto first = runs.front().curve->target;
  const bool common = std::all_of(runs.begin(), runs.end(),
                                  [&](const DrawnRun& run) { return run.curve->target == first; });
  if (common && first) return first;
  const bool none = std::none_of(runs.begin(), runs.end(),
                                 [](const DrawnRun& run) { return run.curve->target.has_value(); });
  if (!none) return std::nullopt;
  const std::string& round = runs.front().folder->score.ruleset;
  const bool one_round = std::all_of(runs.begin(), runs.end(), [&](const DrawnRun& run) {
    return run.folder->score.ruleset == round;
  });
  return results::published_target(benchmark, one_round ? round : "");
}

Axis axis_of(const results::AccuracyAxis& accuracies) {
  Axis axis;
  axis.place = [accuracies](double value) { return accuracies.place(value); };
  axis.ticks = accuracies.ticks();
  axis.label = [](double value) { return fmt::format("{:.6g}", value); };
  return axis;
}

// A label a system, at the middle one of its ends; those shown beside come last.
std::vector<EndLabel> labels_of(const std::vector<DrawnRun>& runs) {
  std::map<int, std::vector<const DrawnRun*>> of_system;
  std::vector<int> order;
  for (const DrawnRun& run : runs) {
    auto& list = of_system[run.folder->owner.system];
    if (list.empty()) order.push_back(run.folder->owner.system);
    list.push_back(&run);
  }
  std::vector<EndLabel> labels;
  for (const int system : order) {
    auto& list = of_system[system];
    std::stable_sort(list.begin(), list.end(), [](const DrawnRun* a, const DrawnRun* b) {
      return a->points.back().first < b->points.back().first;
    });
    const DrawnRun& middle = *list[(list.size() - 1) / 2];
    labels.push_back(
        {middle.folder->owner, middle.points.back().first, middle.points.back().second});
  }
  std::stable_partition(labels.begin(), labels.end(),
                        [](const EndLabel& label) { return label.owner.colour >= 0; });
  return labels;
}

// All evaluations, for the pictures over time and over samples.
Data evaluations_of(const ReportData& data, const std::string& benchmark) {
  Data behind{"accuracy-" + file_name(benchmark),
              {"system", "log", "minutes", unit_of_samples(benchmark), "accuracy"},
              {}};
  for (const ReportedFolder* folder : folders_of(data, benchmark)) {
    for (const ReportedRun& run : folder->runs) {
      for (const Evaluation& evaluation : run.curve.evaluations) {
        behind.rows.push_back(
            {folder->owner.name, run.curve.log.filename().string(),
             fmt::format("{:.7g}", evaluation.minutes),
             evaluation.samples ? fmt::format("{:.9g}", *evaluation.samples) : std::string(),
             fmt::format("{:.6g}", evaluation.accuracy)});
      }
    }
  }
  return behind;
}

std::string curves_figure(const ReportData& data, const std::string& benchmark, Over over) {
  const auto runs = drawn_runs(folders_of(data, benchmark), over);
  if (runs.empty()) return "";
  const std::string unit = over == Over::kMinutes ? "minutes" : unit_of_samples(benchmark);
  LineChart chart;
  std::vector<double> ends, all;
  std::vector<const Curve*> curves;
  size_t unfinished = 0;
  for (const DrawnRun& run : runs) {
    curves.push_back(run.curve);
    ends.push_back(run.points.back().first);
    const std::string log = run.curve->log.filename().string();
    for (const auto& [x, y] : run.points) all.push_back(x);
    unfinished += run.curve->converged ? 0 : 1;
    chart.lines.push_back({run.folder->owner, run.points, !run.curve->converged, false,
                           fmt::format("{}, {}{}", run.folder->owner.name, log,
                                       run.curve->converged ? "" : ", did not converge")});
  }
  // Grey lines lie behind.
  std::stable_partition(chart.lines.begin(), chart.lines.end(),
                        [](const Line& line) { return line.owner.colour < 0; });
  const std::optional<double> target = target_of(runs, benchmark);
  const auto accuracies = results::AccuracyAxis::of(curves, target);
  chart.labels = labels_of(runs);
  if (target) chart.levels.push_back({*target, fmt::format("target {:.6g}", *target)});
  chart.x = is_far_apart(ends) && *std::min_element(all.begin(), all.end()) > 0
                ? time_axis(all)
                : linear_axis(all, true);
  chart.y = axis_of(accuracies);
  chart.x_title = over == Over::kMinutes ? "minutes since run_start" : unit;
  chart.y_title = "accuracy";
  std::string caption = fmt::format("{}: accuracy over {}, a line a run", benchmark_name(benchmark),
                                    over == Over::kMinutes ? "time" : unit);
  if (unfinished > 0) caption += "; dashed: did not converge";
  if (accuracies.break_at()) {
    const double from = accuracies.stretched_from(), to = accuracies.stretched_to();
    if (from > accuracies.least()) chart.breaks.push_back(from);
    if (to < accuracies.most()) chart.breaks.push_back(to);
    caption += fmt::format(". From {:.4g} to {:.4g} the axis is stretched {:.3g} times", from, to,
                           accuracies.stretch());
  }
  return figure(
      benchmark, caption + '.',
      line_chart(chart, {fmt::format("Accuracy over {}, {}", unit, benchmark_name(benchmark)),
                         fmt::format("{} runs of {} systems", runs.size(), chart.labels.size())}),
      over == Over::kMinutes ? evaluations_of(data, benchmark) : Data());
}

}  // namespace

Section accuracy_section(const ReportData& data) {
  std::string html;
  for (const std::string& benchmark : data.benchmarks) {
    html += curves_figure(data, benchmark, Over::kMinutes) +
            curves_figure(data, benchmark, Over::kSamples);
  }
  return {"accuracy", "Accuracy over time and samples", html};
}

}  // namespace strata::report
