#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compliance/checks/rounds.h"
#include "report/sections/section.h"
#include "results/minutes.h"

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

// Slowest over fastest run that counts, less 1.
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

Cell checked(const Score& score) {
  const size_t counting = score.counting_runs();
  if (counting == score.runs.size()) return Cell::marked("all runs count", "good");
  if (counting > 0)
    return Cell::marked(fmt::format("{} do not count", score.runs.size() - counting), "bad");
  return Cell::marked("no run counts", "bad");
}

Cell reference(const Score& score) {
  if (!score.held_to_rcp) return "not held to it";
  const auto outcome = score.rcp.outcome();
  return Cell::marked(std::string(compliance::word(outcome)),
                      outcome == compliance::Outcome::kFailed   ? "bad"
                      : outcome == compliance::Outcome::kPassed ? "good"
                                                                : "");
}

Table systems_table(const ReportData& data) {
  Table table("systems", "Systems side by side",
              {"System", "Benchmark", "Division", "Accelerators", "Number", "Minutes to train",
               "Mean", "Spread of runs", "Runs that count", "Batch", "To converge", "Checks",
               "Reference points", "Round"});
  for (const ReportedFolder& folder : data.folders) {
    const Score& score = folder.score;
    const auto minutes = minutes_of(score.time_to_train_ms);
    const auto spread = spread_of(score);
    table.add({folder.owner.name, benchmark_name(folder.benchmark), score.system.division,
               score.system.accelerator, Cell::of(accelerators_of(score)), Cell::of(minutes),
               score.mean == Mean::kOlympic ? "olympic"
               : score.mean == Mean::kPlain ? "plain"
                                            : "none",
               Cell::of(spread, spread ? percent(*spread) : ""), runs_in_words(score),
               Cell::of(score.batch_size), Cell::of(score.samples_to_converge), checked(score),
               reference(score), score.ruleset},
              folder.owner.system, folder.benchmark);
  }
  return table;
}

// Which of a folder's runs an olympic mean leaves out: those before and after the middle ones.
std::vector<bool> dropped_runs(const Score& score) {
  std::vector<bool> dropped(score.runs.size(), false);
  if (score.mean != Mean::kOlympic) return dropped;
  std::vector<size_t> by_time;
  for (size_t i = 0; i < score.runs.size(); ++i) {
    if (score.runs[i].counts) by_time.push_back(i);
  }
  std::stable_sort(by_time.begin(), by_time.end(), [&](size_t a, size_t b) {
    return score.runs[a].time_to_train_ms < score.runs[b].time_to_train_ms;
  });
  const auto cut = static_cast<size_t>(compliance::dropped_runs(score.folder.benchmark));
  const size_t failed = score.runs.size() - by_time.size();
  for (size_t i = 0; i < by_time.size(); ++i) {
    if (i < cut || i + cut - std::min(cut, failed) >= by_time.size()) dropped[by_time[i]] = true;
  }
  return dropped;
}

std::string spread_figure(const ReportData& data, const std::string& benchmark) {
  std::vector<DotRow> rows;
  Data behind{"times-" + file_name(benchmark), {"system", "log", "minutes", "counts"}, {}};
  size_t without = 0;
  for (const ReportedFolder* folder : folders_of(data, benchmark)) {
    const Score& score = folder->score;
    DotRow row{.owner = folder->owner};
    const std::vector<bool> dropped = dropped_runs(score);
    for (size_t i = 0; i < score.runs.size(); ++i) {
      const RunScore& run = score.runs[i];
      std::optional<double> minutes;
      if (run.counts) {
        minutes = run.time_to_train_ms * score.committee_scaling / results::kMsPerMinute;
      } else if (folder->runs[i].phases) {
        minutes = folder->runs[i].phases->total / 60;
      }
      if (!minutes || !(*minutes > 0)) continue;
      row.dots.push_back(
          {*minutes,
           !run.counts  ? DotKind::kFailed
           : dropped[i] ? DotKind::kDropped
                        : DotKind::kCounted,
           fmt::format("{}, {}: {:.4g} min{}", folder->owner.name, run.log.filename().string(),
                       *minutes, run.counts ? "" : ", does not count: " + run.reason)});
      behind.rows.push_back({folder->owner.name, run.log.filename().string(),
                             fmt::format("{:.9g}", *minutes), run.counts ? "yes" : "no"});
    }
    row.mark = minutes_of(score.time_to_train_ms);
    row.note = (row.mark ? short_number(*row.mark) : std::string("no score")) + "  " +
               plain(accelerators_in_words(score), 22);
    if (row.dots.empty() && !row.mark) {
      ++without;
    } else {
      rows.push_back(std::move(row));
    }
  }
  if (rows.empty()) return "";
  const std::string caption = fmt::format(
      "{}: minutes to train. A dot a run; hollow: left out of the olympic mean; a cross: does not "
      "count. The upright line is the score, the number at the right.{}",
      benchmark_name(benchmark),
      without > 0 ? fmt::format(" {} without any time are not shown.", without) : "");
  return figure(benchmark, caption,
                dot_chart(rows, "minutes to train",
                          {"Minutes to train, " + benchmark_name(benchmark),
                           fmt::format("{} systems, the fastest first: {}", rows.size(),
                                       rows.front().owner.name)}),
                behind);
}

}  // namespace

Section results_section(const ReportData& data) {
  std::string html;
  for (const std::string& benchmark : data.benchmarks) html += spread_figure(data, benchmark);
  return {"results", "Systems side by side", systems_table(data).html() + html};
}

}  // namespace strata::report
