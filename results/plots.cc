#include "results/plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"

namespace strata::results {
namespace {

constexpr double kMsPerMinute = 60'000;
// Longest over shortest from which on an axis is logarithmic.
constexpr double kFarApart = 20;
// Inches of text in a picture.
constexpr double kLine = 0.24, kCharacter = 0.085;

// The one benchmark of all `items`.
template <typename Items, typename BenchmarkOf>
std::string only_benchmark(const Items& items, const BenchmarkOf& benchmark_of) {
  std::set<std::string> names;
  for (const auto& item : items) names.insert(benchmark_of(item));
  if (names.size() > 1) {
    fail("runs of several benchmarks ({}): a plot shows one; choose it with --benchmark",
         fmt::join(names, ", "));
  }
  return *names.begin();
}

// ---- Curves

// What is drawn of a run.
struct Line {
  const Curve* curve;
  std::vector<std::pair<double, double>> points;
  int colour = 0;     // from 1, one a series
  std::string title;  // of a series' first run; empty: none
};

std::vector<std::pair<double, double>> points_of(const Curve& curve, CurveAxis axis) {
  std::vector<std::pair<double, double>> points;
  for (const Evaluation& evaluation : curve.evaluations) {
    if (axis == CurveAxis::kMinutes) points.emplace_back(evaluation.minutes, evaluation.accuracy);
    if (axis == CurveAxis::kSamples && evaluation.samples) {
      points.emplace_back(*evaluation.samples, evaluation.accuracy);
    }
  }
  return points;
}

std::vector<Line> lines_of(const std::vector<Curve>& curves, CurveAxis axis) {
  std::vector<Line> lines;
  std::map<std::string, int> runs, colours;
  for (const Curve& curve : curves) {
    auto points = points_of(curve, axis);
    if (points.empty()) continue;
    lines.push_back({&curve, std::move(points)});
    ++runs[curve.series];
  }
  for (Line& line : lines) {
    const std::string& series = line.curve->series;
    const auto [colour, first] = colours.emplace(series, static_cast<int>(colours.size()) + 1);
    line.colour = colour->second;
    if (!first) continue;
    line.title = runs[series] == 1 ? series : fmt::format("{} ({} runs)", series, runs[series]);
  }
  return lines;
}

// The target of all.
std::optional<double> common_target(const std::vector<Line>& lines) {
  const auto target = lines.front().curve->target;
  const bool common = std::all_of(lines.begin(), lines.end(),
                                  [&](const Line& line) { return line.curve->target == target; });
  return common ? target : std::nullopt;
}

// Whether the longest line goes on far longer than the shortest.
bool ends_are_far_apart(const std::vector<Line>& lines) {
  double shortest = std::numeric_limits<double>::infinity(), longest = 0;
  for (const Line& line : lines) {
    shortest = std::min(shortest, line.points.back().first);
    longest = std::max(longest, line.points.back().first);
  }
  return longest > kFarApart * shortest;
}

std::string data_of(const std::vector<Line>& lines) {
  std::string data = "$runs << EOD\n";
  for (const Line& line : lines) {
    for (const auto& [x, y] : line.points) data += fmt::format("{:.10g} {:.6g}\n", x, y);
    data += "\n\n";
  }
  return data + "EOD\n";
}

// ---- Scores

std::string label_of(const Score& score) {
  std::string label = score.folder.submitter.empty()
                          ? score.folder.path.string()
                          : fmt::format("{} {}", score.folder.submitter, score.folder.system);
  const SystemFacts& system = score.system;
  if (system.accelerators && !system.accelerator.empty()) {
    label += fmt::format(" ({} x {})", *system.accelerators, system.accelerator);
  }
  return label;
}

// Horizontal bars, the first at the top, with their numbers: a column of $scores, whose first one
// numbers the rows.
struct Bars {
  int column;
  std::string title;
  double least = std::numeric_limits<double>::infinity(), most = 0;

  void take(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  std::string script(size_t rows) const {
    const bool far_apart = most > kFarApart * least;
    const double from = far_apart ? least / 2 : 0, to = far_apart ? most * 4 : most * 1.25;
    return fmt::format(
        "{} logscale x\nset xrange [{:.6g}:{:.6g}]\nset yrange [{}:-0.5]\nset title {}\n"
        "plot $scores using {}:1:({:.6g}):{}:($1-0.35):($1+0.35) with boxxyerror lt 3 fs solid "
        "noborder notitle, \\\n"
        "  $scores using {}:1:(sprintf(' %.4g', ${})) with labels left notitle\n",
        far_apart ? "set" : "unset", from, to, static_cast<double>(rows) - 0.5,
        gnuplot_string(title), column, from, column, column, column);
  }
};

std::string margins(double left, double right) {
  return fmt::format("set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\n", left, right);
}

}  // namespace

Picture plot_curves(const std::vector<Curve>& curves, const CurvePlotOptions& options) {
  const std::vector<Line> lines = lines_of(curves, options.axis);
  const bool over_samples = options.axis == CurveAxis::kSamples;
  if (lines.empty()) {
    fail("no run has evaluations{}: there is nothing to plot",
         over_samples ? " that say after how many samples" : "");
  }
  const std::string benchmark =
      only_benchmark(lines, [](const Line& line) { return line.curve->benchmark; });
  const bool counts_samples = benchmark == "bert" || benchmark.empty();
  const std::string axis = !over_samples    ? "minutes since run_start"
                           : counts_samples ? "samples"
                                            : "epochs or samples, as logged";
  std::string script = data_of(lines);
  script += fmt::format(
      "set colorsequence podo\nset grid\nset key below left Left reverse maxcols 1\n{}\n"
      "set xlabel {}\nset ylabel {}\nplot ",
      ends_are_far_apart(lines) ? "set logscale x" : "set xrange [0:*]", gnuplot_string(axis),
      gnuplot_string(benchmark.empty() ? "accuracy" : "accuracy, " + benchmark));
  size_t titles = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    script +=
        fmt::format("{}$runs index {} using 1:2 with linespoints lt {} lw 1.5{} pt 7 ps 0.3 {}",
                    i == 0 ? "" : ", \\\n  ", i, line.colour, line.curve->converged ? "" : " dt 2",
                    line.title.empty() ? "notitle" : "title " + gnuplot_string(line.title));
    if (!line.title.empty()) ++titles;
  }
  if (const auto target = options.target ? options.target : common_target(lines)) {
    script += fmt::format(", \\\n  {:.6g} with lines lc 'black' dt 3 title {}", *target,
                          gnuplot_string(fmt::format("target {:.6g}", *target)));
    ++titles;
  }
  Picture picture{.script = script + "\n"};
  picture.height += kLine * static_cast<double>(titles);
  return picture;
}

Picture plot_scores(const std::vector<Score>& scores) {
  std::vector<const Score*> fastest;
  for (const Score& score : scores) {
    if (score.time_to_train_ms) fastest.push_back(&score);
  }
  if (fastest.empty()) fail("no folder has a time to train: there is nothing to plot");
  const std::string benchmark =
      only_benchmark(fastest, [](const Score* score) { return score->folder.benchmark; });
  std::stable_sort(fastest.begin(), fastest.end(), [](const Score* a, const Score* b) {
    return *a->time_to_train_ms < *b->time_to_train_ms;
  });
  Bars minutes{2, "minutes to train, " + benchmark}, rates{3, "sequences/s of an accelerator"};
  std::string data, names;
  size_t widest = 0;
  for (size_t i = 0; i < fastest.size(); ++i) {
    const Score& score = *fastest[i];
    const double time = *score.time_to_train_ms / kMsPerMinute;
    const auto rate = score.sequences_per_second_per_accelerator;
    minutes.take(time);
    if (rate) rates.take(*rate);
    data += fmt::format("{} {:.6g} {}\n", i, time, rate ? fmt::format("{:.6g}", *rate) : "NaN");
    const std::string label = label_of(score);
    widest = std::max(widest, label.size());
    names += fmt::format("{}{} {}", i == 0 ? "" : ", ", gnuplot_string(label), i);
  }
  constexpr double kPanel = 3.5, kBetween = 0.2;
  const bool two = rates.most > 0;
  const double labels = 0.3 + kCharacter * static_cast<double>(widest);
  Picture picture{.width = labels + (two ? 2 : 1) * (kPanel + kBetween),
                  .height = 1.2 + kLine * static_cast<double>(fastest.size())};
  const auto panel = [&](double begin) {
    return margins(begin / picture.width, (begin + kPanel) / picture.width);
  };
  picture.script = "$scores << EOD\n" + data + "EOD\nset grid x\nset xtics nomirror\n" +
                   "set ytics nomirror scale 0 (" + names + ")\nset colorsequence podo\n" +
                   (two ? "set multiplot\n" : "") + panel(labels) + minutes.script(fastest.size());
  if (two) {
    picture.script += "unset ytics\n" + panel(labels + kPanel + kBetween) +
                      rates.script(fastest.size()) + "unset multiplot\n";
  }
  return picture;
}

}  // namespace strata::results
