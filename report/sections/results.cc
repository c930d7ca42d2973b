#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/text/counts.h"
#include "report/sections/section.h"
#include "scoring/minutes.h"
#include "scoring/plots/run_dots.h"

namespace strata::report {
namespace {

using scoring::Mean;
using scoring::RunScore;
using scoring::Score;

std::optional<double> minutes_of(const std::optional<double>& milliseconds) {
  if (!milliseconds) return std::nullopt;
  return *milliseconds / scoring::kMsPerMinute;
}

std::string runs_in_words(const Score& score) {
  std::string words = fmt::format("{} of {}", score.counting_runs(), score.runs.size());
  if (score.runs_needed > 0 && score.runs.size() < static_cast<size_t>(score.runs_needed)) {
    words += fmt::format(" (a submission needs {})", score.runs_needed);
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
  if (!score.held_to_rcp) return "not checked: only the closed division is";
  const auto outcome = score.rcp.outcome();
  if (outcome == compliance::Outcome::kFailed && watched && awaits_runs(folder)) {
    return "not yet: more runs are needed";
  }
  return Cell::marked(std::string(compliance::word(outcome)),
                      outcome == compliance::Outcome::kFailed   ? "bad"
                      : outcome == compliance::Outcome::kPassed ? "good"
                                                                : "");
}

std::string mean_in_words(const Score& score) {
  return score.mean == Mean::kOlympic ? "olympic" : score.mean == Mean::kPlain ? "plain" : "none";
}

// A column that a table has if a folder has something for it.
struct Column {
  std::string title;
  bool is_shown;
  Cell (*cell)(const ReportedFolder& folder, bool watched);
};

std::string systems_table(const ReportData& data, const std::string& group, bool watched) {
  const auto folders = folders_of(data, group);
  const auto any = [&](auto is) {
    return std::ranges::any_of(folders, [&](const ReportedFolder* folder) { return is(*folder); });
  };
  using Folder = const ReportedFolder&;
  const bool lacks_targets = any([](Folder f) { return f.score.target.has_value(); }) &&
                             any([](Folder f) { return !f.score.target; });
  // The first columns are those that fit on a telephone.
  const Column columns[] = {
      {"Minutes to train", true,
       [](Folder f, bool) { return Cell::of(minutes_of(f.score.time_to_train_ms)); }},
      {"Accelerators", true, [](Folder f, bool) { return Cell::count(accelerators_of(f.score)); }},
      {"Batch", true, [](Folder f, bool) { return Cell::count(f.score.batch_size); }},
      {"Accelerator", true, [](Folder f, bool) { return Cell(f.score.system.accelerator); }},
      {"Shown", any([](Folder f) { return f.beside; }),
       [](Folder f, bool) { return Cell(f.beside ? "beside" : "of this report"); }},
      {"Factor of scaling.json", any([](Folder f) { return f.score.committee_scaling != 1; }),
       [](Folder f, bool) { return Cell::of(f.score.committee_scaling); }},
      {"Rules", true, checked},
      {"Reference points", true, reference},
      {"Runs that count", true, [](Folder f, bool) { return Cell(runs_in_words(f.score)); }},
      {"Spread of runs", true,
       [](Folder f, bool) {
         const auto spread = spread_of(f.score);
         return Cell::of(spread, spread ? percent(*spread) : "");
       }},
      {"Accelerator-minutes", true,
       [](Folder f, bool) { return Cell::of(accelerator_minutes_of(f.score)); }},
      {is_bert(group) ? "Samples to converge" : "To converge (samples or epochs, as logged)", true,
       [](Folder f, bool) { return Cell::of(f.score.samples_to_converge); }},
      {"Target", lacks_targets, [](Folder f, bool) { return Cell::of(f.score.target); }},
      {"Mean", true, [](Folder f, bool) { return Cell(mean_in_words(f.score)); }},
      {"Division", true, [](Folder f, bool) { return Cell(f.score.system.division); }},
      {"Round", true, [](Folder f, bool) { return Cell(f.score.ruleset); }}};
  std::vector<std::string> titles = {"System"};
  for (const Column& column : columns) {
    if (column.is_shown) titles.push_back(column.title);
  }
  const std::string target = target_in_words(folders), name = benchmark_name(group);
  Table table("systems-" + file_name(group),
              fmt::format("{}{}: scores and their details", name,
                          target.empty() || name.ends_with(target) ? "" : ", " + target),
              titles);
  for (const ReportedFolder* folder : folders) {
    std::vector<Cell> cells = {folder->owner.name};
    for (const Column& column : columns) {
      if (column.is_shown) cells.push_back(column.cell(*folder, watched));
    }
    table.add(std::move(cells), folder->owner.system, group);
  }
  return table.html();
}

// Returns the systems by benchmarks, as MLCommons prints a round, or an empty text if there is one
// benchmark.
std::string minutes_of_systems(const ReportData& data) {
  if (data.groups.size() < 2) return "";
  std::map<std::string, std::map<std::string, const ReportedFolder*>> systems;
  for (const ReportedFolder& folder : data.folders) {
    systems[folder.owner.name].emplace(folder.group, &folder);
  }
  std::vector<std::string> columns = {"System", "Accelerators"};
  for (const std::string& group : data.groups) columns.push_back(benchmark_name(group));
  columns.emplace_back("Accelerator");
  Table table("minutes", "Minutes to train, systems by benchmarks", columns);
  for (const auto& [name, folders] : systems) {
    const ReportedFolder& first = *folders.begin()->second;
    std::vector<Cell> cells = {name, Cell::count(accelerators_of(first.score))};
    for (const std::string& group : data.groups) {
      const auto found = folders.find(group);
      const bool is_there = found != folders.end();
      cells.push_back(
          Cell::of(is_there ? minutes_of(found->second->score.time_to_train_ms) : std::nullopt));
      if (!is_there) cells.back().text = "";
    }
    cells.emplace_back(first.score.system.accelerator);
    table.add(std::move(cells), first.owner.system);
  }
  return table.html();
}

std::string spread_figure(const ReportData& data, const std::string& benchmark) {
  drawing::RowChart chart;
  Data behind{"times-" + file_name(benchmark), {"system", "log", "minutes", "counts"}, {}};
  std::vector<double> values;
  std::vector<drawing::Shape> shapes;
  size_t without = 0;
  for (const ReportedFolder* folder : folders_of(data, benchmark)) {
    drawing::Entry entry;
    for (scoring::RunDot& run : scoring::run_dots(folder->score)) {
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
  chart.legend = scoring::run_dot_keys(shapes);
  const std::string caption = fmt::format(
      "{}: minutes to train of each run. The score is at the right.{}", benchmark_name(benchmark),
      without > 0 ? fmt::format(" Not shown: {} without a time.", without) : "");
  return figure(benchmark, caption, picture_of(chart),
                {"Minutes to train, " + benchmark_name(benchmark),
                 fmt::format("{}, the fastest first: {}", counted(chart.rows.size(), "system"),
                             chart.rows.front().owner.name)},
                behind);
}

}  // namespace

Section results_section(const ReportData& data, bool watched) {
  std::string html;
  std::string figures;
  for (const std::string& group : data.groups) {
    html += systems_table(data, group, watched);
    figures += spread_figure(data, group);
  }
  return {"results", "Systems side by side",
          minutes_of_systems(data) + html + in_rows(std::move(figures))};
}

}  // namespace strata::report
