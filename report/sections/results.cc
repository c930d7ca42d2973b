#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text/counts.h"
#include "report/sections/section.h"
#include "results/minutes.h"
#include "results/plots/run_dots.h"

namespace strata::report {
namespace {

using results::Mean;
using results::RunScore;
using results::Score;

std::optional<double> minutes_of(const std::optional<double>& milliseconds) {
  if (!milliseconds) return std::nullopt;
  return *milliseconds / results::kMsPerMinute;
}

std::string runs_in_words(const Score& score) {
  std::string words = fmt::format("{} of {}", score.counting_runs(), score.runs.size());
  if (score.runs_needed > 0 && score.runs.size() < static_cast<size_t>(score.runs_needed)) {
    words += fmt::format(" ({} make a submission)", score.runs_needed);
  }
  return words;
}

// Returns slowest over fastest run that counts, minus 1.
std::optional<double> spread_of(const Score& score) {
  double least = INFINITY, most = 0;
  for (const RunScore& run : score.runs) {
    if (!run.counts) continue;
    least = std::min(least, run.time_to_train_ms);
    most = std::max(most, run.time_to_train_ms);
  }
  if (!(most > 0) || !(least > 0)) return std::nullopt;
  return most / least - 1;
}

Cell checked(const ReportedFolder& folder, bool watched) {
  const Score& score = folder.score;
  const size_t under_way = watched ? runs_without_end(folder) : 0, counting = score.counting_runs(),
               others = score.runs.size() - counting - under_way;
  if (others > 0 && counting == 0) return Cell::marked("no run counts", "bad");
  if (others > 0) {
    return Cell::marked(others == 1 ? "1 does not count" : fmt::format("{} do not count", others),
                        "bad");
  }
  if (counting == 0)
    return under_way > 0 ? Cell("under way") : Cell::marked("no run counts", "bad");
  const bool judged = std::all_of(score.runs.begin(), score.runs.end(),
                                  [](const RunScore& run) { return run.not_judged.empty(); });
  return judged ? Cell::marked("passed", "good") : Cell("not judged: no rules");
}

Cell reference(const ReportedFolder& folder, bool watched) {
  const Score& score = folder.score;
  if (!score.held_to_rcp) return "open division: not held to them";
  const auto outcome = score.rcp.outcome();
  if (outcome == compliance::Outcome::kFailed && watched && awaits_runs(folder)) {
    return "not yet: more runs are needed";
  }
  return Cell::marked(std::string(compliance::word(outcome)),
                      outcome == compliance::Outcome::kFailed   ? "bad"
                      : outcome == compliance::Outcome::kPassed ? "good"
                                                                : "");
}

Table systems_table(const ReportData& data, bool watched) {
  const bool has_beside = std::any_of(data.folders.begin(), data.folders.end(),
                                      [](const ReportedFolder& folder) { return folder.beside; });
  const bool has_factors =
      std::any_of(data.folders.begin(), data.folders.end(),
                  [](const ReportedFolder& folder) { return folder.score.committee_scaling != 1; });
  std::vector<std::string> columns = {"System",
                                      "Benchmark",
                                      "Minutes to train",
                                      "Rules",
                                      "Reference points",
                                      "Runs that count",
                                      "Spread of runs",
                                      "Accelerators",
                                      "Accelerator",
                                      "Batch",
                                      "To converge (samples or epochs, as logged)",
                                      "Target",
                                      "Mean",
                                      "Division",
                                      "Round"};
  if (has_factors) columns.insert(columns.begin() + 3, "Factor of scaling.json");
  if (has_beside) columns.insert(columns.begin() + 1, "Shown");
  Table table("systems", "Scores and what they rest on", columns);
  for (const ReportedFolder& folder : data.folders) {
    const Score& score = folder.score;
    const auto minutes = minutes_of(score.time_to_train_ms);
    const auto spread = spread_of(score);
    std::vector<Cell> cells = {folder.owner.name,
                               benchmark_name(folder.benchmark),
                               Cell::of(minutes),
                               checked(folder, watched),
                               reference(folder, watched),
                               runs_in_words(score),
                               Cell::of(spread, spread ? percent(*spread) : ""),
                               Cell::count(accelerators_of(score)),
                               score.system.accelerator,
                               Cell::count(score.batch_size),
                               Cell::of(score.samples_to_converge),
                               Cell::of(score.target),
                               score.mean == Mean::kOlympic ? "olympic"
                               : score.mean == Mean::kPlain ? "plain"
                                                            : "none",
                               score.system.division,
                               score.ruleset};
    if (has_factors) cells.insert(cells.begin() + 3, Cell::of(score.committee_scaling));
    if (has_beside) cells.insert(cells.begin() + 1, folder.beside ? "beside" : "of this report");
    table.add(std::move(cells), folder.owner.system, folder.benchmark);
  }
  return table;
}

std::string spread_figure(const ReportData& data, const std::string& benchmark) {
  drawing::RowChart chart;
  Data behind{"times-" + file_name(benchmark), {"system", "log", "minutes", "counts"}, {}};
  std::vector<double> values;
  std::vector<drawing::Shape> shapes;
  size_t without = 0;
  for (const ReportedFolder* folder : folders_of(data, benchmark)) {
    drawing::Entry entry;
    for (results::RunDot& run : results::run_dots(folder->score)) {
      behind.rows.push_back({folder->owner.name, run.run->log.filename().string(),
                             fmt::format("{:.9g}", run.dot.value), run.run->counts ? "yes" : "no"});
      values.push_back(run.dot.value);
      shapes.push_back(run.dot.shape);
      run.dot.tip = folder->owner.name + ", " + run.dot.tip;
      entry.dots.push_back(std::move(run.dot));
    }
    entry.mark = minutes_of(folder->score.time_to_train_ms);
    if (entry.mark) values.push_back(*entry.mark);
    entry.note = entry.mark ? short_number(*entry.mark) + " min" : std::string("no score");
    if (entry.dots.empty() && !entry.mark) {
      ++without;
    } else {
      chart.rows.push_back({named_with_accelerators(*folder), {std::move(entry)}});
    }
  }
  if (chart.rows.empty()) return "";
  chart.panels = {{drawing::time_axis(values), "minutes to train"}};
  chart.legend = results::run_dot_keys(shapes);
  const std::string caption =
      fmt::format("{}: minutes to train, the score at the right.{}", benchmark_name(benchmark),
                  without > 0 ? fmt::format(" {} without any time are not shown.", without) : "");
  return figure(benchmark, caption, row_chart(chart),
                {"Minutes to train, " + benchmark_name(benchmark),
                 fmt::format("{}, the fastest first: {}", counted(chart.rows.size(), "system"),
                             chart.rows.front().owner.name)},
                behind);
}

}  // namespace

Section results_section(const ReportData& data, bool watched) {
  std::string html;
  for (const std::string& benchmark : data.benchmarks) html += spread_figure(data, benchmark);
  return {"results", "Systems side by side", systems_table(data, watched).html() + html};
}

}  // namespace strata::report
