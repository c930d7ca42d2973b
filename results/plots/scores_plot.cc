#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include "base/error.h"
#include "results/minutes.h"
#include "results/plots/number_axis.h"
#include "results/plots/plot_parts.h"
#include "results/plots/plots.h"
#include "results/system_names.h"

namespace strata::results {
namespace {

// In inches: a row, what is above and below the rows, panels, and the space to the right of one.
constexpr double kRow = 0.22, kAbove = 1, kBelow = 0.6;
constexpr double kMinutesWidth = 3.2, kSpreadWidth = 2.1, kRateWidth = 1.3;
constexpr double kNumbers = 0.7, kBetween = 0.35;
// Of the score: runs farther from it are drawn at the edge.
constexpr double kFarthest = 0.5;

// How a run is drawn.
enum class RunKind { kInMean, kDropped, kFailed };
struct Mark {
  std::string_view block, title, look;
};
constexpr Mark kMarks[] = {
    {"$counts", "run", "pt 7 ps 0.75 lc rgb '#0072b2'"},
    {"$dropped", "run that the olympic mean drops", "pt 6 ps 0.85 lw 1.2 lc rgb '#0072b2'"},
    {"$failed", "run that does not count", "pt 2 ps 0.85 lw 1.5 lc rgb '#d55e00'"}};

// A point in a row, the first of which is 0 and at the top.
struct Point {
  size_t row;
  double value;
  double deviation = 0;  // of a run from the mean, as a share of it
};

// `name`: short, and no other system's.
std::string label_of(const Score& score, const std::string& name) {
  std::string label = name;
  const SystemFacts& system = score.system;
  const std::string accelerators = accelerators_in_short(system.accelerators, system.accelerator);
  if (!accelerators.empty()) label += ", " + accelerators;
  if (score.mean == Mean::kPlain) {
    label += fmt::format(", {}", score.counting_runs());
    if (score.runs_needed > 0) label += fmt::format(" of {}", score.runs_needed);
    label += " runs";
  }
  return label;
}

std::vector<std::string> labels_of(const std::vector<const Score*>& rows) {
  constexpr size_t kLongestName = 46;
  std::vector<const compliance::ResultFolder*> folders;
  for (const Score* score : rows) folders.push_back(&score->folder);
  const std::vector<std::string> places = places_apart(folders);
  std::vector<std::string> names;
  for (size_t i = 0; i < rows.size(); ++i) {
    names.push_back(name_with_place(*folders[i], places[i]));
  }
  names = shortened_apart(names, kLongestName);
  std::vector<std::string> labels;
  for (size_t i = 0; i < rows.size(); ++i) labels.push_back(label_of(*rows[i], names[i]));
  return labels;
}

// Those with a time to train, fastest first.
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

double minutes_of(const Score& score) { return *score.time_to_train_ms / kMsPerMinute; }

using RunPoints = std::array<std::vector<Point>, std::size(kMarks)>;

// The minutes of every run that has a time, by kind.
RunPoints run_points(const std::vector<const Score*>& rows) {
  RunPoints points;
  for (size_t row = 0; row < rows.size(); ++row) {
    const Score& score = *rows[row];
    const std::vector<bool> in_mean = runs_in_mean(score);
    for (size_t i = 0; i < score.runs.size(); ++i) {
      const RunScore& run = score.runs[i];
      if (!run.duration_ms || *run.duration_ms <= 0) continue;
      const RunKind kind = in_mean[i]   ? RunKind::kInMean
                           : run.counts ? RunKind::kDropped
                                        : RunKind::kFailed;
      points[static_cast<size_t>(kind)].push_back(
          {row, *run.duration_ms / kMsPerMinute, *run.duration_ms / *score.unscaled_ms - 1});
    }
  }
  return points;
}

std::string data_block(std::string_view name, const std::vector<Point>& points) {
  std::string text = fmt::format("{} << EOD\n", name);
  for (const Point& point : points) {
    text += fmt::format("{} {:.6g} {:.4f}\n", point.row, point.value,
                        100 * std::clamp(point.deviation, -kFarthest, kFarthest));
  }
  return text + "EOD\n";
}

std::string drawn_text(std::string_view text, std::string_view place, std::string_view side) {
  return fmt::format("set label {} at {} {}\n", gnuplot_string(text), place, side);
}

// Numbers beside the rows of a panel.
std::string numbers_beside(const std::vector<std::string>& numbers) {
  std::string script;
  for (size_t row = 0; row < numbers.size(); ++row) {
    script += drawn_text(numbers[row], fmt::format("graph 1.02, first {}", row), "left");
  }
  return script;
}

// Panels from left to right.
class Panels {
 public:
  Panels(double left, double page) : left_(left), page_(page) {}

  // Tics stand at the top as well, since the foot of many rows is far.
  std::string next(double width, double space, const NumberAxis& axis, const std::string& title) {
    const std::string range = fmt::format("[{:.10g}:{:.10g}]", axis.from(), axis.to()),
                      tics = tics_at(axis.ticks(0.25 / width));
    const double left = left_;
    left_ += width + space;
    return fmt::format(
        "set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\n"
        "{} logscale xx2\nset xrange {}\nset x2range {}\nset xtics {}\nset x2tics {}\n"
        "set xlabel {}\n",
        left / page_, (left + width) / page_, axis.is_logarithmic() ? "set" : "unset", range, range,
        tics, tics, gnuplot_string(title));
  }

 private:
  double left_, page_;
};

// "20.4", and the factor that a review committee put on the mean.
std::string minutes_text(const Score& score) {
  std::string text = fmt::format("{:.4g}", minutes_of(score));
  if (score.committee_scaling != 1) text += fmt::format(" (x {:.3g})", score.committee_scaling);
  return text;
}

// Every other row a little darker, so that the eye keeps to it.
std::string bands(size_t rows) {
  std::string script;
  for (size_t row = 0; row < rows; row += 2) {
    script += fmt::format(
        "set object rectangle from graph 0, first {} to graph 1, first {} behind fc rgb '#f1f1f1' "
        "fs noborder\n",
        static_cast<double>(row) - 0.5, static_cast<double>(row) + 0.5);
  }
  return script;
}

}  // namespace

Plot plot_scores(const std::vector<Score>& scores) {
  Plot plot;
  const std::vector<const Score*> rows = fastest_first(scores, plot.left_out);
  if (rows.empty()) fail("there is nothing to plot: no folder has a time to train");
  const std::string benchmark =
      only_benchmark(rows, [](const Score* score) { return benchmark_of(*score); });

  const RunPoints runs = run_points(rows);
  std::vector<Point> means, rates;
  std::vector<std::string> minutes, rate_texts;
  std::set<std::string> rounds, targets;
  size_t run_count = 0;
  double labels = 0, least = std::numeric_limits<double>::infinity(), most = 0, highest_rate = 0;
  std::string names;
  const std::vector<std::string> row_labels = labels_of(rows);
  for (size_t row = 0; row < rows.size(); ++row) {
    const Score& score = *rows[row];
    const std::string& label = row_labels[row];
    labels = std::max(labels, width_of(label));
    // Labels of tics would be formats.
    names += drawn_text(label, fmt::format("graph -0.02, first {}", row), "right");
    means.push_back({row, minutes_of(score)});
    minutes.push_back(minutes_text(score));
    const auto rate = score.sequences_per_second_per_accelerator;
    if (rate) rates.push_back({row, *rate});
    rate_texts.push_back(rate ? fmt::format("{:.4g}", *rate) : "");
    highest_rate = std::max(highest_rate, rate.value_or(0));
    rounds.insert(round_in_short(score.ruleset));
    run_count += score.runs.size();
    targets.insert(score.target ? fmt::format("{:.6g}", *score.target) : "");
  }
  double farthest = 0;
  const auto take = [&](const Point& point) {
    least = std::min(least, point.value);
    most = std::max(most, point.value);
    farthest = std::max(farthest, std::abs(point.deviation));
  };
  std::for_each(means.begin(), means.end(), take);
  std::string data = data_block("$mean", means) + (rates.empty() ? "" : data_block("$rate", rates));
  std::string over_minutes =
      "plot $mean using 2:($1-0.4):(0):(0.8) with vectors nohead lw 2.5 lc rgb '#000000' notitle";
  std::string over_spread;
  for (size_t kind = 0; kind < runs.size(); ++kind) {
    if (runs[kind].empty()) continue;
    std::for_each(runs[kind].begin(), runs[kind].end(), take);
    const Mark& mark = kMarks[kind];
    data += data_block(mark.block, runs[kind]);
    over_minutes +=
        fmt::format(", \\\n  {} using 2:1 with points {} notitle", mark.block, mark.look);
    over_spread += fmt::format("{} \\\n  {} using 3:1 with points {} notitle",
                               over_spread.empty() ? "plot" : ",", mark.block, mark.look);
  }

  // On a logarithmic axis the runs of a system are one dot.
  const NumberAxis axis = NumberAxis::of(least, most);
  const bool has_spread = axis.is_logarithmic() && farthest > 0;
  Picture& picture = plot.picture;
  const double left = 0.25 + labels;
  picture.width = left + kMinutesWidth + kNumbers + (has_spread ? kSpreadWidth + kBetween : 0) +
                  (rates.empty() ? 0 : kRateWidth + kNumbers);
  picture.height = kAbove + kBelow + kRow * static_cast<double>(rows.size());
  const auto screen = [&](double x, double from_top) {
    return fmt::format("screen {:.4f}, screen {:.4f}", x / picture.width,
                       1 - from_top / picture.height);
  };
  std::string legend =
      fmt::format("set arrow from {} to {} nohead lw 2.5\n", screen(0.3, 0.6), screen(0.3, 0.4)) +
      drawn_text("score", screen(0.42, 0.5), "left");
  double at = 1.2;
  for (size_t kind = 0; kind < runs.size(); ++kind) {
    if (runs[kind].empty()) continue;
    const Mark& mark = kMarks[kind];
    legend += drawn_text("", screen(at, 0.5), fmt::format("point {}", mark.look)) +
              drawn_text(mark.title, screen(at + 0.12, 0.5), "left");
    at += width_of(mark.title) + 0.4;
  }
  if (has_spread && farthest > kFarthest) {
    legend += drawn_text(fmt::format("farther than {:.0f} % at the edge", 100 * kFarthest),
                         screen(at, 0.5), "left");
  }
  const std::string round = rounds.size() == 1 ? *rounds.begin() : "";
  const std::string one_target = targets.size() == 1 ? *targets.begin() : "";
  const std::string title =
      fmt::format("{}{}time to train{}: {}, {}", benchmark.empty() ? "" : benchmark + ", ",
                  round.empty() ? "" : fmt::format("rules of MLPerf Training {}, ", round),
                  one_target.empty() ? "" : " to " + one_target, counted(rows.size(), "system"),
                  counted(run_count, "run"));

  Panels panels(left, picture.width);
  picture.script = data +
                   fmt::format(
                       "set bmargin at screen {:.4f}\nset tmargin at screen {:.4f}\n"
                       "set yrange [{}:-0.5]\nset tics nomirror\nunset ytics\n"
                       "set grid x lc rgb '#dddddd' lw 0.5 lt 1\n{}set multiplot\n",
                       kBelow / picture.height, 1 - kAbove / picture.height,
                       static_cast<double>(rows.size()) - 0.5, bands(rows.size())) +
                   drawn_text(title, screen(0.25, 0.2), "left font ':Bold'") + legend + names +
                   numbers_beside(minutes) +
                   panels.next(kMinutesWidth, kNumbers, axis, "minutes to train") + over_minutes +
                   "\nunset label\nunset arrow\n";
  if (has_spread) {
    const double edge = 100 * std::min(farthest, kFarthest);
    picture.script += panels.next(kSpreadWidth, kBetween, NumberAxis::of(-edge, edge),
                                  "runs against their mean, %") +
                      "set arrow from 0, graph 0 to 0, graph 1 nohead lw 1 back\n" + over_spread +
                      "\nunset arrow\n";
  }
  if (!rates.empty()) {
    picture.script += numbers_beside(rate_texts) +
                      panels.next(kRateWidth, kNumbers, NumberAxis::from_zero(highest_rate),
                                  "sequences/s/accelerator") +
                      "plot $rate using 2:1 with points pt 7 ps 0.7 lc rgb '#009e73' notitle\n";
  }
  picture.script += "unset multiplot\n";
  plot.drawn = rows.size();
  return plot;
}

}  // namespace strata::results
