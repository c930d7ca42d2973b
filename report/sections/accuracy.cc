#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text/counts.h"
#include "base/timing.h"
#include "compliance/checks/published_target.h"
#include "report/sections/section.h"
#include "results/plots/accuracy_axis.h"

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

bool is_after_end(const ReportedRun& run, const Evaluation& evaluation) {
  constexpr double kSecond = 1.0 / 60;
  return run.phases && evaluation.minutes > run.phases->total / 60 + kSecond;
}

std::vector<DrawnRun> drawn_runs(const std::vector<const ReportedFolder*>& folders, Over over) {
  std::vector<DrawnRun> runs;
  for (const ReportedFolder* folder : folders) {
    for (const ReportedRun& run : folder->runs) {
      DrawnRun drawn{folder, &run.curve, {}};
      for (const Evaluation& evaluation : run.curve.evaluations) {
        // Some benchmarks are evaluated when the clock has stopped.
        if (over == Over::kMinutes && is_after_end(run, evaluation)) continue;
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

size_t runs_evaluated_late(const std::vector<const ReportedFolder*>& folders) {
  size_t count = 0;
  for (const ReportedFolder* folder : folders) {
    for (const ReportedRun& run : folder->runs) {
      const auto& evaluations = run.curve.evaluations;
      count += !evaluations.empty() &&
                       std::all_of(evaluations.begin(), evaluations.end(),
                                   [&](const Evaluation& e) { return is_after_end(run, e); })
                   ? 1
                   : 0;
    }
  }
  return count;
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
  return compliance::published_target(benchmark, one_round ? round : "");
}

Axis axis_of(const results::AccuracyAxis& accuracies) {
  Axis axis;
  axis.place = [accuracies](double value) { return accuracies.place(value); };
  axis.ticks = accuracies.ticks();
  axis.label = [](double value) { return fmt::format("{:.6g}", value); };
  return axis;
}

// The runs of each system; systems in the order of their first.
std::vector<std::vector<const DrawnRun*>> runs_by_system(const std::vector<DrawnRun>& runs) {
  std::vector<std::vector<const DrawnRun*>> systems;
  std::map<int, size_t> place;
  for (const DrawnRun& run : runs) {
    const auto [found, first] = place.emplace(run.folder->owner.system, systems.size());
    if (first) systems.emplace_back();
    systems[found->second].push_back(&run);
  }
  return systems;
}

// The median run of a system's, if it is drawn; else that of the runs that are.
const DrawnRun& middle_of(const std::vector<const DrawnRun*>& runs) {
  std::vector<const Curve*> all, drawn;
  for (const ReportedRun& run : runs.front()->folder->runs) {
    if (!run.curve.evaluations.empty()) all.push_back(&run.curve);
  }
  for (const DrawnRun* run : runs) drawn.push_back(run->curve);
  const auto found = std::ranges::find(drawn, all[results::median_run(all)]);
  return *runs[found != drawn.end() ? static_cast<size_t>(found - drawn.begin())
                                    : results::median_run(drawn)];
}

std::set<const Curve*> middle_runs(const std::vector<DrawnRun>& runs) {
  std::set<const Curve*> middles;
  for (const auto& list : runs_by_system(runs)) middles.insert(middle_of(list).curve);
  return middles;
}

// A label a system, at the end of its middle run; those shown beside come last.
std::vector<EndLabel> labels_of(const std::vector<DrawnRun>& runs) {
  std::vector<EndLabel> labels;
  for (const auto& list : runs_by_system(runs)) {
    const DrawnRun& middle = middle_of(list);
    labels.push_back({named_with_accelerators(*middle.folder), middle.points.back().first,
                      middle.points.back().second});
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
  const std::set<const Curve*> middles = middle_runs(runs);
  for (const DrawnRun& run : runs) {
    curves.push_back(run.curve);
    ends.push_back(run.points.back().first);
    const std::string log = run.curve->log.filename().string();
    for (const auto& [x, y] : run.points) all.push_back(x);
    unfinished += run.curve->converged ? 0 : 1;
    chart.lines.push_back({run.folder->owner, run.points, !run.curve->converged,
                           middles.contains(run.curve),
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
  chart.y_title = benchmark == "bert" ? "masked-LM accuracy" : "eval_accuracy, as logged";
  std::string caption = fmt::format(
      "{}: {} over {}, a line a run, thick: a system's median run", benchmark_name(benchmark),
      benchmark == "bert" ? "accuracy" : "the benchmark's own measure (eval_accuracy)",
      over == Over::kMinutes ? "time" : unit);
  if (unfinished > 0) caption += "; dashed: run_stop does not say success";
  if (accuracies.break_at() && std::isfinite(accuracies.stretch())) {
    chart.breaks.push_back(*accuracies.break_at());
    caption += fmt::format(
        ". Two scales: from {:.4g} to {:.4g} a difference is drawn {:.2g} times as high, so lines "
        "bend there",
        accuracies.stretched_from(), accuracies.stretched_to(), accuracies.stretch());
  }
  if (over == Over::kMinutes) {
    const size_t late = runs_evaluated_late(folders_of(data, benchmark));
    if (late > 0) {
      caption += fmt::format(". Not shown: {} evaluated after run_stop alone",
                             counted(late, "run that was", "runs that were"));
    }
  }
  return figure(
      benchmark, caption + '.',
      line_chart(chart, {fmt::format("Accuracy over {}, {}", unit, benchmark_name(benchmark)),
                         fmt::format("{} of {}", counted(runs.size(), "run"),
                                     counted(chart.labels.size(), "system"))}),
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
