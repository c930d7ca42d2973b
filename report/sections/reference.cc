#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text/counts.h"
#include "compliance/checks/workload_points.h"
#include "report/sections/section.h"

namespace strata::report {
namespace {

namespace fs = std::filesystem;
using compliance::ReferencePoint;
using compliance::ReferencePoints;
using compliance::WorkloadPoints;

std::string verdict_of(const ReportedFolder& folder) {
  return folder.score.held_to_rcp ? std::string(word(folder.score.rcp.outcome()))
                                  : std::string("not checked");
}

// Returns the points of one benchmark in one round, or nullopt if there are none.
std::optional<ReferencePoints> points_of(const ReportedFolder& folder, const fs::path& directory) {
  try {
    return compliance::load_reference_points(directory, folder.score.usage, folder.score.ruleset,
                                             folder.benchmark);
  } catch (const ReadError&) {
    throw;
  } catch (const Error&) {
    return std::nullopt;  // the score reports it
  }
}

// Returns whether the points cover such a batch size.
bool is_near(double batch_size, const ReferencePoints& points) {
  constexpr double kFar = 8;
  const auto& known = points.pruned();
  return batch_size * kFar >= known.front().batch_size &&
         batch_size <= known.back().batch_size * kFar;
}

// Systems beside the lines of a reference, over batch size.
struct ReferenceFigure {
  explicit ReferenceFigure(const std::string& name)
      : behind{"reference-" + file_name(name), {"name", "batch", "to converge", "verdict"}, {}} {
    chart.names_points = true;
  }

  void add_system(const ReportedFolder& folder, double batch_size, double to_converge) {
    xs.push_back(batch_size);
    ys.push_back(to_converge);
    chart.points.push_back(
        {folder.owner, batch_size, to_converge,
         fmt::format("{}: {} at batch {}: {}", folder.owner.name, short_number(to_converge),
                     batch_size, verdict_of(folder))});
    behind.rows.push_back({folder.owner.name, fmt::format("{}", batch_size),
                           fmt::format("{:.9g}", to_converge), verdict_of(folder)});
  }

  void add_point(double batch_size, double mean) {
    behind.rows.push_back(
        {"reference point", fmt::format("{}", batch_size), fmt::format("{:.9g}", mean), ""});
  }

  std::string html(const std::string& benchmark, const std::string& caption,
                   size_t reference_point_count) {
    for (const drawing::Guide& guide : chart.guides) {
      for (const auto& [batch_size, to_converge] : guide.points) {
        xs.push_back(batch_size);
        ys.push_back(to_converge);
      }
    }
    chart.x = drawing::time_axis(xs);
    chart.y = drawing::linear_axis(ys, false);
    chart.x_title = "global batch size";
    chart.y_title = unit_of_samples(benchmark) + " to converge";
    return figure(benchmark, caption, picture_of(chart),
                  {"Reference points, " + benchmark_name(benchmark),
                   fmt::format("{} and {}", counted(chart.points.size(), "system"),
                               counted(reference_point_count, "reference point"))},
                  behind);
  }

  drawing::Chart chart;
  std::vector<double> xs, ys;
  Data behind;
};

std::string reference_figure(const std::vector<const ReportedFolder*>& folders,
                             const ReferencePoints& points, const std::string& benchmark,
                             const std::string& ruleset) {
  ReferenceFigure drawn(benchmark + " " + ruleset);
  drawing::Guide mean{.name = "reference"}, least{.name = "least allowed", .dashed = true};
  for (const ReportedFolder* folder : folders) {
    const scoring::Score& score = folder->score;
    if (score.rcp.two_sided) continue;  // of another workload
    if (!score.samples_to_converge || !score.batch_size || !is_near(*score.batch_size, points)) {
      continue;
    }
    // Some BERT logs count epochs.
    if (is_bert(benchmark) && *score.samples_to_converge < *score.batch_size) continue;
    drawn.add_system(*folder, *score.batch_size, *score.samples_to_converge);
  }
  if (drawn.chart.points.empty()) return "";
  for (const ReferencePoint& point : points.pruned()) {
    mean.points.emplace_back(point.batch_size, point.mean);
    least.points.emplace_back(point.batch_size, point.mean / point.max_speedup);
    drawn.add_point(point.batch_size, point.mean);
  }
  const size_t count = mean.points.size();
  drawn.chart.guides = {std::move(mean), std::move(least)};
  return drawn.html(
      benchmark,
      fmt::format(
          "{}, round {}: {} to converge over batch size, beside the reference. Points below "
          "the dashed line converged faster than is allowed.",
          benchmark_name(benchmark), ruleset, unit_of_samples(benchmark)),
      count);
}

// Draws the systems that were judged by the points of this workload.
std::string workload_figure(const std::vector<const ReportedFolder*>& folders,
                            const WorkloadPoints& points, const std::string& benchmark) {
  ReferenceFigure drawn(benchmark + " workload");
  size_t runs = 0;
  for (const ReportedFolder* folder : folders) {
    const compliance::RcpVerdict& rcp = folder->score.rcp;
    if (!rcp.two_sided || rcp.points != points.source() || !rcp.submission_mean) continue;
    drawn.add_system(*folder, *rcp.batch_size, *rcp.submission_mean);
    const auto converged = std::ranges::count_if(
        rcp.runs, [](double count) { return count < compliance::kNeverConverged; });
    runs = std::max(runs, static_cast<size_t>(converged));
  }
  if (drawn.chart.points.empty()) return "";
  drawing::Guide mean{.name = "reference"}, least{.name = "least", .dashed = true},
      greatest{.name = "greatest", .dashed = true};
  for (const compliance::WorkloadPoint& point : points.points()) {
    const compliance::MeanRange range = compliance::expected_mean(point, runs);
    mean.points.emplace_back(point.batch_size, point.mean);
    least.points.emplace_back(point.batch_size, range.least);
    greatest.points.emplace_back(point.batch_size, range.greatest);
    drawn.add_point(point.batch_size, point.mean);
  }
  drawn.chart.guides = {std::move(mean), std::move(least), std::move(greatest)};
  return drawn.html(
      benchmark,
      fmt::format(
          "{} with the target {}: samples to converge over batch size, beside the "
          "reference. The mean of {} that converge like the reference is between the dashed "
          "lines with a probability of 98 %.",
          benchmark_name(benchmark), count_text(*points.workload().quality_target),
          counted(runs, "run")),
      points.points().size());
}

}  // namespace

Section reference_section(const ReportData& data, const fs::path& rcp_directory) {
  std::string html;
  for (const std::string& benchmark : data.groups) {
    const auto folders = folders_of(data, benchmark);
    std::set<std::string> rulesets;
    for (const ReportedFolder* folder : folders) rulesets.insert(folder->score.ruleset);
    for (const std::string& ruleset : rulesets) {
      std::vector<const ReportedFolder*> of_round;
      for (const ReportedFolder* folder : folders) {
        if (folder->score.ruleset == ruleset) of_round.push_back(folder);
      }
      const auto points = points_of(*of_round.front(), rcp_directory);
      if (points && !points->pruned().empty()) {
        html += reference_figure(of_round, *points, benchmark, ruleset);
      }
    }
    for (const WorkloadPoints& points : compliance::built_in_workload_points())
      html += workload_figure(folders, points, benchmark);
  }
  return {"reference", "Reference points", html};
}

}  // namespace strata::report
