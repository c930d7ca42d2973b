#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text/counts.h"
#include "report/sections/section.h"

namespace strata::report {
namespace {

namespace fs = std::filesystem;
using compliance::ReferencePoint;
using compliance::ReferencePoints;

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

std::string reference_figure(const std::vector<const ReportedFolder*>& folders,
                             const ReferencePoints& points, const std::string& benchmark,
                             const std::string& ruleset) {
  drawing::Chart chart;
  chart.names_points = true;
  drawing::Guide mean{.name = "reference"}, least{.name = "least allowed", .dashed = true};
  Data behind{"reference-" + file_name(benchmark + " " + ruleset),
              {"what", "batch", "to converge", "verdict"},
              {}};
  std::vector<double> xs, ys;
  for (const ReportedFolder* folder : folders) {
    const scoring::Score& score = folder->score;
    if (!score.samples_to_converge || !score.batch_size || !is_near(*score.batch_size, points)) {
      continue;
    }
    // Some BERT logs count epochs.
    if (is_bert(benchmark) && *score.samples_to_converge < *score.batch_size) continue;
    xs.push_back(*score.batch_size);
    ys.push_back(*score.samples_to_converge);
    chart.points.push_back({folder->owner, *score.batch_size, *score.samples_to_converge,
                            fmt::format("{}: {} at batch {}: {}", folder->owner.name,
                                        short_number(*score.samples_to_converge), *score.batch_size,
                                        verdict_of(*folder))});
    behind.rows.push_back({folder->owner.name, fmt::format("{}", *score.batch_size),
                           fmt::format("{:.9g}", *score.samples_to_converge), verdict_of(*folder)});
  }
  if (chart.points.empty()) return "";
  for (const ReferencePoint& point : points.pruned()) {
    mean.points.emplace_back(point.batch_size, point.mean);
    least.points.emplace_back(point.batch_size, point.mean / point.max_speedup);
    xs.push_back(point.batch_size);
    ys.push_back(point.mean);
    ys.push_back(point.mean / point.max_speedup);
    behind.rows.push_back({"reference point", fmt::format("{}", point.batch_size),
                           fmt::format("{:.9g}", point.mean), ""});
  }
  chart.guides = {mean, least};
  chart.x = drawing::time_axis(xs);
  chart.y = drawing::linear_axis(ys, false);
  chart.x_title = "global batch size";
  chart.y_title = unit_of_samples(benchmark) + " to converge";
  return figure(benchmark,
                fmt::format("{}, round {}: {} to converge over batch size, beside the reference. "
                            "Points below the dashed line converged faster than is allowed.",
                            benchmark_name(benchmark), ruleset, unit_of_samples(benchmark)),
                picture_of(chart),
                {"Reference points, " + benchmark_name(benchmark),
                 fmt::format("{} and {}", counted(chart.points.size(), "system"),
                             counted(mean.points.size(), "reference point"))},
                behind);
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
  }
  return {"reference", "Reference points", html};
}

}  // namespace strata::report
