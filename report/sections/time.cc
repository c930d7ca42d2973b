#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/numbers/statistics.h"
#include "base/text/counts.h"
#include "base/timing.h"
#include "report/sections/section.h"

namespace strata::report {
namespace {

using compare::RunPhases;

constexpr double kSecondsPerMinute = 60;

// Phases of the runs that count, and their means.
struct MeanPhases {
  size_t runs = 0;
  double start = 0, training = 0, evaluation = 0;  // in seconds
  bool tells_evaluation = false;
};

MeanPhases mean_phases(const ReportedFolder& folder) {
  std::vector<double> start, training, evaluation;
  MeanPhases means;
  for (size_t i = 0; i < folder.runs.size(); ++i) {
    const std::optional<RunPhases>& phases = folder.runs[i].phases;
    if (!phases || !folder.score.runs[i].counts) continue;
    start.push_back(std::max(0.0, phases->start));
    evaluation.push_back(std::max(0.0, phases->evaluation.value_or(0)));
    training.push_back(std::max(0.0, phases->training()));
    means.tells_evaluation = means.tells_evaluation || phases->evaluation.has_value();
  }
  means.runs = start.size();
  if (means.runs == 0) return means;
  means.start = mean(start);
  means.training = mean(training);
  means.evaluation = mean(evaluation);
  return means;
}

std::string run_phases_figure(const ReportData& data, const std::string& benchmark) {
  std::vector<BarRow> rows;
  Data behind{"run-phases-" + file_name(benchmark),
              {"system", "runs", "start seconds", "steps seconds", "evaluation seconds"},
              {}};
  bool some_silent = false;
  for (const ReportedFolder* folder : folders_of(data, benchmark)) {
    const MeanPhases means = mean_phases(*folder);
    const double total = means.start + means.training + means.evaluation;
    if (means.runs == 0 || !(total > 0)) continue;
    some_silent = some_silent || !means.tells_evaluation;
    rows.push_back(
        {folder->owner,
         {100 * means.start / total, 100 * means.training / total, 100 * means.evaluation / total},
         short_number(total / kSecondsPerMinute) + " min" + (means.tells_evaluation ? "" : " *")});
    behind.rows.push_back(
        {folder->owner.name, fmt::format("{}", means.runs), fmt::format("{:.9g}", means.start),
         fmt::format("{:.9g}", means.training), fmt::format("{:.9g}", means.evaluation)});
  }
  if (rows.empty()) return "";
  return figure(
      benchmark,
      fmt::format("{}: phases of a run, in per cent of its time. At the right is that time: the "
                  "plain mean of the runs that count (a score is an olympic mean). Start: from "
                  "run_start to the first block or epoch.{}",
                  benchmark_name(benchmark),
                  some_silent ? " *: evaluations are not logged, so the steps include them." : ""),
      bar_chart(rows, {"start", "steps", "evaluation"}, "per cent of the run"),
      {"Phases of a run, " + benchmark_name(benchmark), counted(rows.size(), "system")}, behind);
}

// ---- Steps of runs with a step trace

struct TracedRun {
  const ReportedFolder* folder;
  size_t run;
  std::string name;
  StepPhases phases;

  const std::vector<TracedStep>& steps() const { return folder->runs[run].steps; }
};

std::vector<TracedRun> traced_runs(const ReportData& data) {
  std::vector<TracedRun> runs;
  for (const ReportedFolder& folder : data.folders) {
    for (size_t i = 0; i < folder.runs.size(); ++i) {
      const auto phases = phases_of(folder.runs[i].steps);
      if (!phases) continue;
      runs.push_back(
          {&folder, i,
           fmt::format("{} {}", folder.owner.name, folder.score.runs[i].log.stem().string()),
           *phases});
    }
  }
  return runs;
}

std::string steps_table(const std::vector<TracedRun>& runs) {
  Table table("steps",
              "Steps of runs with a step trace (medians on the logging rank; tokens of all ranks)",
              {"Run", "Steps", "Step, ms", "99th percentile, ms", "Waiting for data, ms",
               "Exposed communication, ms", "Communication hidden", "Updates, ms", "Imbalance",
               "Tokens/s"});
  for (const TracedRun& run : runs) {
    std::vector<double> seconds;
    for (const TracedStep& step : run.steps()) seconds.push_back(step.seconds);
    std::sort(seconds.begin(), seconds.end());
    const double slow = seconds[std::min(seconds.size() - 1, seconds.size() * 99 / 100)];
    const auto ms = [](double value) { return Cell::of(1000 * value); };
    const auto measured_ms = [](const std::optional<double>& value) {
      return Cell::of(value ? std::optional(1000 * *value) : std::nullopt);
    };
    const std::optional<double> hidden = run.phases.hidden_share;
    table.add({run.name, Cell::of(static_cast<double>(run.steps().size())), ms(run.phases.step),
               ms(slow), ms(run.phases.data), measured_ms(run.phases.exposed),
               Cell::of(hidden, percent(hidden.value_or(0))), measured_ms(run.phases.update),
               Cell::of(run.phases.imbalance), Cell::of(run.phases.tokens_per_second)},
              run.folder->owner.system, run.folder->group);
  }
  return table.html();
}

std::string step_phases_figure(const std::vector<TracedRun>& runs) {
  std::vector<BarRow> rows;
  Data behind{"step-phases", {"run", "compute ms", "exposed communication ms", "data ms"}, {}};
  for (const TracedRun& run : runs) {
    Owner owner = run.folder->owner;
    owner.name = run.name;
    const std::vector<double> parts = {
        1000 * run.phases.compute, 1000 * run.phases.exposed.value_or(0), 1000 * run.phases.data};
    rows.push_back({owner, parts, short_number(1000 * run.phases.step) + " ms"});
    behind.rows.push_back({run.name, fmt::format("{:.9g}", parts[0]),
                           run.phases.exposed ? fmt::format("{:.9g}", parts[1]) : "",
                           fmt::format("{:.9g}", parts[2])});
  }
  std::string caption =
      "Phases of a step, for runs with a step trace: computing and updating; waiting for "
      "communication that no computation hides, or for other ranks; waiting for data.";
  if (std::ranges::any_of(runs, [](const TracedRun& run) { return !run.phases.exposed; })) {
    caption += " If a run does not measure communication, its wait counts as computing.";
  }
  return figure("", caption,
                bar_chart(rows, {"compute and update", "exposed communication", "data"},
                          "milliseconds per step"),
                {"Phases of a step", counted(rows.size(), "run")}, behind);
}

// Returns at most kMost points; more steps are replaced by medians over consecutive ones.
std::vector<std::pair<double, double>> thinned(const std::vector<std::pair<double, double>>& all) {
  constexpr size_t kMost = 400;
  if (all.size() <= kMost) return all;
  std::vector<std::pair<double, double>> points;
  for (size_t i = 0; i < kMost; ++i) {
    const size_t begin = all.size() * i / kMost, end = all.size() * (i + 1) / kMost;
    std::vector<double> values;
    for (size_t j = begin; j < end; ++j) values.push_back(all[j].second);
    points.emplace_back(all[(begin + end) / 2].first, median(std::move(values)));
  }
  return points;
}

template <typename Value>
std::string over_steps(const std::vector<TracedRun>& runs, const std::string& name,
                       const std::string& y_title, const std::string& caption, bool from_zero,
                       const Value& value_of) {
  drawing::Chart chart;
  Data behind{name, {"run", "step", y_title}, {}};
  std::vector<double> xs, ys;
  for (const TracedRun& run : runs) {
    std::vector<std::pair<double, double>> all;
    for (const TracedStep& step : run.steps()) {
      const std::optional<double> value = value_of(step);
      if (value) all.emplace_back(static_cast<double>(step.step), *value);
    }
    drawing::Line line{
        .owner = run.folder->owner, .points = thinned(all), .bold = true, .tip = run.name};
    if (line.points.empty()) continue;
    for (const auto& [x, y] : line.points) {
      xs.push_back(x);
      ys.push_back(y);
      behind.rows.push_back({run.name, fmt::format("{}", x), fmt::format("{:.6g}", y)});
    }
    chart.lines.push_back(std::move(line));
  }
  if (chart.lines.empty()) return "";
  chart.x = drawing::linear_axis(xs, true);
  chart.y = drawing::linear_axis(ys, from_zero);
  chart.x_title = "step";
  chart.y_title = y_title;
  return figure("", caption, picture_of(chart),
                {y_title + " over steps", counted(chart.lines.size(), "run")}, behind);
}

}  // namespace

Section time_section(const ReportData& data) {
  std::string html;
  for (const std::string& benchmark : data.groups) html += run_phases_figure(data, benchmark);
  html = in_rows(std::move(html));
  const std::vector<TracedRun> runs = traced_runs(data);
  if (!runs.empty()) {
    html += steps_table(runs) + step_phases_figure(runs);
    html += over_steps(
        runs, "step-times", "milliseconds", "Milliseconds of every step.", true,
        [](const TracedStep& step) -> std::optional<double> { return 1000 * step.seconds; });
    html += over_steps(runs, "imbalance", "imbalance",
                       "Imbalance of each step's batch plan: the work of the rank that has the "
                       "most, divided by the mean.",
                       false, [](const TracedStep& step) { return step.imbalance; });
    html += over_steps(runs, "loss", "masked-LM loss", "Masked-LM loss of the training batches.",
                       false, [](const TracedStep& step) { return step.loss; });
  }
  return {"time", "Where the time goes", html};
}

}  // namespace strata::report
