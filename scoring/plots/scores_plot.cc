#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/text/counts.h"
#include "drawing/rows.h"
#include "scoring/minutes.h"
#include "scoring/plots/plot_parts.h"
#include "scoring/plots/plots.h"
#include "scoring/plots/run_dots.h"
#include "scoring/system_names.h"

namespace strata::scoring {
namespace {

using drawing::Entry;
using drawing::RowChart;

constexpr double kMinutesWidth = 330, kSpreadWidth = 210, kRateWidth = 140;
// A share of the score. Runs farther from it are drawn at the edge.
constexpr double kFarthest = 0.5;

// Returns what follows the system's name.
std::string detail_of(const Score& score) {
  const SystemFacts& system = score.system;
  std::string detail = accelerators_in_short(system.accelerators, system.accelerator);
  if (score.mean == Mean::kPlain) {
    if (!detail.empty()) detail += ", ";
    detail += fmt::format("{}", score.counting_runs());
    if (score.runs_needed > 0) detail += fmt::format(" of {}", score.runs_needed);
    detail += " runs";
  }
  return detail;
}

std::vector<std::string> names_of(const std::vector<const Score*>& rows) {
  constexpr size_t kLongestName = 46;
  std::vector<const compliance::ResultFolder*> folders;
  for (const Score* score : rows) folders.push_back(&score->folder);
  const std::vector<std::string> places = distinguishing_places(folders);
  std::vector<std::string> names;
  for (size_t i = 0; i < rows.size(); ++i) {
    names.push_back(name_with_place(*folders[i], places[i]));
  }
  return drawing::shortened_apart(names, kLongestName);
}

// Returns the minutes of the median run. `plot curves` orders colours by them, too.
double median_minutes(const Score& score) {
  std::vector<double> counting, all;
  for (const RunScore& run : score.runs) {
    if (!run.duration_ms || *run.duration_ms <= 0) continue;
    all.push_back(*run.duration_ms);
    if (run.counts) counting.push_back(*run.duration_ms);
  }
  std::vector<double>& runs = counting.empty() ? all : counting;
  if (runs.empty()) return std::numeric_limits<double>::infinity();
  const auto middle = runs.begin() + static_cast<std::ptrdiff_t>((runs.size() - 1) / 2);
  std::nth_element(runs.begin(), middle, runs.end());
  return *middle;
}

std::vector<drawing::Owner> owners_of(const std::vector<const Score*>& rows) {
  const std::vector<std::string> names = names_of(rows);
  std::vector<size_t> order;
  for (size_t i = 0; i < rows.size(); ++i) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](size_t i) { return median_minutes(*rows[i]); });
  std::vector<drawing::NamedSystem> systems;
  for (const size_t i : order) systems.push_back({names[i], rows[i]->folder.submitter});
  const std::vector<int> colours = drawing::colours_for(systems);
  std::vector<drawing::Owner> owners(rows.size());
  for (size_t i = 0; i < order.size(); ++i) {
    owners[order[i]] =
        drawing::Owner::coloured(colours[i], names[order[i]], detail_of(*rows[order[i]]));
  }
  return owners;
}

// Returns the scores with a time to train, fastest first.
std::vector<const Score*> fastest_first(const std::vector<Score>& scores,
                                        std::vector<std::string>& left_out) {
  std::vector<const Score*> fastest;
  for (const Score& score : scores) {
    if (score.time_to_train_ms && *score.time_to_train_ms > 0) {
      fastest.push_back(&score);
    } else {
      const std::string& reason = score.runs.empty() ? "" : score.runs.front().reason;
      left_out.push_back(fmt::format("{}: has no time to train{}", score.folder.path.string(),
                                     reason.empty() ? "" : ": " + reason));
    }
  }
  std::stable_sort(fastest.begin(), fastest.end(), [](const Score* a, const Score* b) {
    return *a->time_to_train_ms < *b->time_to_train_ms;
  });
  return fastest;
}

// Returns a text like "20.4" with the factor on the mean.
std::string minutes_text(const Score& score) {
  std::string text = fmt::format("{:.4g}", *score.time_to_train_ms / kMsPerMinute);
  if (score.committee_scaling != 1) text += fmt::format(" (x {:.3g})", score.committee_scaling);
  return text;
}

Entry minutes_entry(const Score& score) {
  Entry entry;
  for (const RunDot& run : run_dots(score)) entry.dots.push_back(run.dot);
  entry.mark = *score.time_to_train_ms / kMsPerMinute;
  entry.note = minutes_text(score);
  return entry;
}

// Shows the runs' deviations from the mean in percent.
Entry spread_entry(const Score& score) {
  Entry entry;
  for (const RunDot& run : run_dots(score)) {
    const double deviation = run.dot.value * kMsPerMinute / *score.time_to_train_ms - 1;
    entry.dots.push_back(
        {100 * std::clamp(deviation, -kFarthest, kFarthest), run.dot.shape, run.dot.tip});
  }
  return entry;
}

Entry rate_entry(const Score& score) {
  Entry entry;
  if (const auto rate = score.sequences_per_second_per_accelerator) {
    entry.dots.push_back({*rate, drawing::Shape::kDot, ""});
    entry.note = fmt::format("{:.4g}", *rate);
  }
  return entry;
}

// Adds a panel with `entry_of` of each score, unless it has no dots.
template <typename EntryOf, typename AxisOf>
void add_panel(RowChart& chart, const std::vector<const Score*>& rows, const std::string& title,
               double width, const EntryOf& entry_of, const AxisOf& axis_of) {
  std::vector<Entry> entries;
  std::vector<double> values;
  for (const Score* score : rows) {
    entries.push_back(entry_of(*score));
    for (const drawing::Dot& dot : entries.back().dots) values.push_back(dot.value);
    if (entries.back().mark) values.push_back(*entries.back().mark);
  }
  if (values.empty()) return;
  for (size_t i = 0; i < rows.size(); ++i) chart.rows[i].entries.push_back(std::move(entries[i]));
  chart.panels.push_back({axis_of(values), title, width});
}

std::string title_of(const std::vector<const Score*>& rows, const std::string& benchmark) {
  std::set<std::string> rounds, targets;
  size_t runs = 0;
  for (const Score* score : rows) {
    rounds.insert(round_in_short(score->ruleset));
    targets.insert(score->target ? fmt::format("{:.6g}", *score->target) : "");
    runs += score->runs.size();
  }
  const std::string round = rounds.size() == 1 ? *rounds.begin() : "";
  const std::string target = targets.size() == 1 ? *targets.begin() : "";
  return fmt::format("{}{}time to train{}: {}, {}", benchmark.empty() ? "" : benchmark + ", ",
                     round.empty() ? "" : fmt::format("rules of MLPerf Training {}, ", round),
                     target.empty() ? "" : " to " + target, counted(rows.size(), "system"),
                     counted(runs, "run"));
}

}  // namespace

drawing::Plot plot_scores(const std::vector<Score>& scores) {
  drawing::Plot plot;
  const std::vector<const Score*> rows = fastest_first(scores, plot.left_out);
  if (rows.empty()) fail("there is nothing to plot: no folder has a time to train");
  const std::string benchmark =
      only_benchmark(rows, [](const Score* score) { return benchmark_of(*score); });

  constexpr double kFine = 0.08, kCoarse = 0.2;  // space between ticks
  RowChart chart;
  chart.longest_name = drawing::kLongestText;
  for (const drawing::Owner& owner : owners_of(rows)) chart.rows.push_back({owner, {}});
  std::vector<double> minutes;
  add_panel(chart, rows, "minutes to train", kMinutesWidth, minutes_entry,
            [&](const std::vector<double>& values) {
              minutes = values;
              return drawing::time_axis(values, kFine);
            });
  std::vector<drawing::Shape> shapes;
  for (const drawing::Row& row : chart.rows) {
    for (const drawing::Dot& dot : row.entries.front().dots) shapes.push_back(dot.shape);
  }
  chart.legend = run_dot_keys(shapes);
  // On a logarithmic axis a system's runs would form one dot.
  if (drawing::is_far_apart(minutes)) {
    double farthest = 0;
    add_panel(chart, rows, "runs against their mean, %", kSpreadWidth, spread_entry,
              [&](const std::vector<double>& values) {
                for (const double value : values) farthest = std::max(farthest, std::abs(value));
                return drawing::linear_axis({-farthest, farthest}, false, kCoarse);
              });
    chart.panels.back().has_zero_line = true;
    if (farthest >= 100 * kFarthest) {
      chart.legend.push_back(
          {.shape = drawing::Shape::kNone,
           .text = fmt::format("beyond {:.0f} %: drawn at the edge", 100 * kFarthest)});
    }
  }
  add_panel(chart, rows, "sequences/s/accelerator", kRateWidth, rate_entry,
            [&](const std::vector<double>& values) {
              return drawing::linear_axis(values, true, kCoarse);
            });
  plot.picture = drawing::titled(title_of(rows, benchmark), {row_chart(chart)});
  plot.drawn = rows.size();
  return plot;
}

}  // namespace strata::scoring
