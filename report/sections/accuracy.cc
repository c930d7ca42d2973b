#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text/counts.h"
#include "compliance/checks/published_target.h"
#include "report/sections/section.h"
#include "scoring/plots/curve_chart.h"

namespace strata::report {
namespace {

using scoring::CurveAxis;
using scoring::DrawnSystem;
using scoring::Evaluation;

bool is_after_end(const ReportedRun& run, double minutes) {
  constexpr double kSecond = 1.0 / 60;
  return run.phases && minutes > run.phases->total / 60 + kSecond;
}

std::vector<DrawnSystem> drawn_systems(const std::vector<const ReportedFolder*>& folders,
                                       CurveAxis axis) {
  constexpr size_t kLongestName = 46;
  std::vector<DrawnSystem> systems;
  std::map<int, size_t> place;  // by Owner::system
  for (const ReportedFolder* folder : folders) {
    for (const ReportedRun& run : folder->runs) {
      auto points = scoring::points_of(run.curve, axis);
      if (axis == CurveAxis::kMinutes) {
        // Some benchmarks are evaluated after the clock has stopped.
        std::erase_if(points, [&](const auto& point) { return is_after_end(run, point.first); });
      }
      if (points.empty()) continue;
      const auto [found, first] = place.emplace(folder->owner.system, systems.size());
      if (first) {
        Owner owner = named_with_accelerators(*folder);
        owner.name = drawing::shortened(owner.name, kLongestName);
        systems.push_back(
            {std::move(owner), folder->score.folder.submitter, {}, {}, folder->beside});
      }
      systems[found->second].runs.push_back(
          {&run.curve, std::move(points),
           folder->owner.name + ", " + run.curve.log.filename().string()});
    }
  }
  for (const ReportedFolder* folder : folders) {
    const auto found = place.find(folder->owner.system);
    if (found == place.end()) continue;
    for (const ReportedRun& run : folder->runs) {
      if (!run.curve.evaluations.empty()) {
        systems[found->second].curves.push_back(&run.curve);
      }
    }
  }
  return systems;
}

size_t runs_evaluated_late(const std::vector<const ReportedFolder*>& folders) {
  size_t count = 0;
  for (const ReportedFolder* folder : folders) {
    for (const ReportedRun& run : folder->runs) {
      const auto& evaluations = run.curve.evaluations;
      count += !evaluations.empty() && std::all_of(evaluations.begin(), evaluations.end(),
                                                   [&](const Evaluation& e) {
                                                     return is_after_end(run, e.minutes);
                                                   })
                   ? 1
                   : 0;
    }
  }
  return count;
}

// Returns the target that all logs name, or the rules' target for the benchmark if none names one.
std::optional<double> target_of(const std::vector<DrawnSystem>& systems,
                                const std::vector<const ReportedFolder*>& folders,
                                const std::string& benchmark) {
  std::set<std::optional<double>> targets;
  for (const DrawnSystem& system : systems) {
    for (const scoring::DrawnRun& run : system.runs) targets.insert(run.curve->target);
  }
  if (targets.size() > 1) return std::nullopt;
  if (*targets.begin()) return *targets.begin();
  std::set<std::string> rounds;
  for (const ReportedFolder* folder : folders) rounds.insert(folder->score.ruleset);
  return compliance::published_target(benchmark, rounds.size() == 1 ? *rounds.begin() : "");
}

// Returns all evaluations, for the pictures over time and over samples.
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

std::string curves_figure(const ReportData& data, const std::string& benchmark, CurveAxis axis) {
  const auto folders = folders_of(data, benchmark);
  const std::vector<DrawnSystem> systems = drawn_systems(folders, axis);
  if (systems.empty()) return "";
  const bool is_time = axis == CurveAxis::kMinutes;
  const drawing::Chart chart =
      scoring::curve_chart(systems, target_of(systems, folders, folders.front()->benchmark), axis,
                           folders.front()->benchmark);
  std::string caption =
      fmt::format("{}: {} over {}. Each line is a run; a thick line is a system's median run",
                  benchmark_name(benchmark),
                  is_bert(benchmark) ? "accuracy" : "the benchmark's own measure (eval_accuracy)",
                  is_time ? "time" : unit_of_samples(benchmark));
  if (std::ranges::any_of(chart.lines, &drawing::Line::dashed)) {
    caption += ". Dashed: run_stop does not say success";
  }
  if (scoring::has_too_many_runs(systems)) {
    caption += fmt::format(
        ". Lines show the best accuracy so far, of at most {} runs per system, the fastest "
        "and the slowest among them",
        scoring::kRunsOfMany + 1);
  }
  if (chart.band) {
    caption += ". In the shaded range differences are drawn larger, so lines bend at its edge";
  }
  const size_t late = is_time ? runs_evaluated_late(folders) : 0;
  if (late > 0) {
    caption += fmt::format(". Not shown: {} evaluated only after run_stop",
                           counted(late, "run that was", "runs that were"));
  }
  return figure(
      benchmark, caption + '.', picture_of(chart),
      {fmt::format("Accuracy over {}, {}", is_time ? "minutes" : unit_of_samples(benchmark),
                   benchmark_name(benchmark)),
       fmt::format("{} of {}", counted(chart.lines.size(), "run"),
                   counted(systems.size(), "system"))},
      is_time ? evaluations_of(data, benchmark) : Data());
}

}  // namespace

Section accuracy_section(const ReportData& data) {
  std::string html;
  for (const std::string& benchmark : data.groups) {
    html += curves_figure(data, benchmark, CurveAxis::kMinutes) +
            curves_figure(data, benchmark, CurveAxis::kSamples);
  }
  return {"accuracy", "Accuracy over time and samples", html};
}

}  // namespace strata::report
