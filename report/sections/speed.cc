#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text/counts.h"
#include "report/sections/section.h"
#include "scoring/minutes.h"

namespace strata::report {
namespace {

using scoring::Score;

constexpr double kMsPerSecond = 1000;

// Returns a run's mean power.
std::optional<double> watts_of(const Score& score) {
  if (!score.energy_joules || !score.time_to_train_ms || *score.time_to_train_ms <= 0) {
    return std::nullopt;
  }
  return *score.energy_joules / (*score.time_to_train_ms / kMsPerSecond);
}

Table speed_table(const ReportData& data) {
  const bool has_energy = std::ranges::any_of(data.folders, [](const ReportedFolder& folder) {
    return folder.score.time_to_train_ms && folder.score.energy_joules;
  });
  std::vector<std::string> columns = {"System",       "Benchmark",
                                      "Accelerators", "Minutes to train",
                                      "Sequences/s",  "Sequences/s per accelerator"};
  if (has_energy) {
    columns.insert(columns.end(), {"Energy, kJ", "Mean watts", "Sequences/s per watt"});
  }
  Table table("speed", "Speed, per accelerator and per watt", columns);
  for (const ReportedFolder& folder : data.folders) {
    const Score& score = folder.score;
    // Scores stand in the tables of systems.
    if (!score.time_to_train_ms || (!score.sequences_per_second && !score.energy_joules)) continue;
    std::vector<Cell> cells = {folder.owner.name,
                               benchmark_name(folder.group),
                               Cell::count(accelerators_of(score)),
                               Cell::of(*score.time_to_train_ms / scoring::kMsPerMinute),
                               Cell::of(score.sequences_per_second),
                               Cell::of(score.sequences_per_second_per_accelerator)};
    if (has_energy) {
      const auto watts = watts_of(score);
      std::optional<double> kilojoules, a_watt;
      if (score.energy_joules) kilojoules = *score.energy_joules / 1000;
      if (watts && *watts > 0 && score.sequences_per_second) {
        a_watt = *score.sequences_per_second / *watts;
      }
      cells.insert(cells.end(), {Cell::of(kilojoules), Cell::of(watts), Cell::of(a_watt)});
    }
    table.add(std::move(cells), folder.owner.system, folder.group);
  }
  return table;
}

// Draws the ideal line: twice as many accelerators take half the time. It starts at the point with
// the fewest accelerator-minutes.
drawing::Guide half_the_time(const std::vector<double>& accelerators,
                             const std::vector<double>& minutes) {
  constexpr int kPieces = 40;
  double fewest = accelerators.front() * minutes.front();
  for (size_t i = 1; i < minutes.size(); ++i) {
    fewest = std::min(fewest, accelerators[i] * minutes[i]);
  }
  const double from = std::max(std::ranges::min(accelerators), fewest / std::ranges::max(minutes));
  const double to = std::min(std::ranges::max(accelerators), fewest / std::ranges::min(minutes));
  if (!(from < to) || !std::isfinite(fewest)) return {};
  drawing::Guide guide{.points = {}, .name = "half the time", .dashed = true};
  for (int i = 0; i <= kPieces; ++i) {
    const double x = from * std::pow(to / from, static_cast<double>(i) / kPieces);
    guide.points.emplace_back(x, fewest / x);
  }
  return guide;
}

// Draws a value over accelerators for the folders that have both, if their numbers of accelerators
// differ.
template <typename Value>
std::string over_accelerators(const ReportData& data, const std::string& benchmark,
                              const std::string& name, const std::string& what,
                              const std::string& caption, bool is_time, const Value& value_of) {
  drawing::Chart chart;
  chart.names_points = true;
  Data behind{
      name + "-" + file_name(benchmark), {"system", "accelerator", "accelerators", what}, {}};
  std::vector<double> xs, ys;
  for (const ReportedFolder* folder : folders_of(data, benchmark)) {
    const Score& score = folder->score;
    const std::optional<double> value = value_of(score);
    const std::optional<double> accelerators = accelerators_of(score);
    if (!value || !(*value > 0) || !accelerators) continue;
    xs.push_back(*accelerators);
    ys.push_back(*value);
    chart.points.push_back({named_with_accelerators(*folder), *accelerators, *value,
                            fmt::format("{}: {}: {} {}", folder->owner.name,
                                        accelerators_in_words(score), short_number(*value), what)});
    behind.rows.push_back({folder->owner.name, score.system.accelerator,
                           fmt::format("{}", *accelerators), fmt::format("{:.9g}", *value)});
  }
  if (std::set(xs.begin(), xs.end()).size() < 2) return "";
  if (is_time) chart.guides.push_back(half_the_time(xs, ys));
  chart.x = drawing::time_axis(xs);
  chart.y = drawing::time_axis(ys);
  chart.x_title = "accelerators";
  chart.y_title = what;
  return figure(benchmark, benchmark_name(benchmark) + ": " + caption, picture_of(chart),
                {what + " over accelerators, " + benchmark_name(benchmark),
                 counted(chart.points.size(), "system")},
                behind);
}

}  // namespace

Section speed_section(const ReportData& data) {
  const Table table = speed_table(data);
  std::string html;
  for (const std::string& benchmark : data.groups) {
    html += over_accelerators(
        data, benchmark, "scaling", "minutes to train",
        "minutes to train over the number of accelerators. Dashed: ideal scaling (twice as many "
        "accelerators take half the time) from the system with the fewest accelerator-minutes.",
        true, [](const Score& score) -> std::optional<double> {
          if (!score.time_to_train_ms) return std::nullopt;
          return *score.time_to_train_ms / scoring::kMsPerMinute;
        });
    html += over_accelerators(
        data, benchmark, "rate", "sequences/s per accelerator",
        "sequences per second and accelerator, including evaluations and start.", false,
        [](const Score& score) { return score.sequences_per_second_per_accelerator; });
  }
  if (!table.empty()) html += table.html();
  return {"speed", "Speed per accelerator and per watt", html};
}

}  // namespace strata::report
