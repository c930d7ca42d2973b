#include "results/plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "results/minutes.h"

namespace strata::results {
namespace {

// Largest over smallest from which on an axis is logarithmic.
constexpr double kFarApart = 20;
// Inches of text in a picture, and the most characters of a name.
constexpr double kLine = 0.24, kCharacter = 0.085;
constexpr size_t kLongestName = 100;
// Series with a title of their own.
constexpr size_t kMostTitles = 80;

// The middle of a long name is left out.
std::string shortened(const std::string& name) {
  if (name.size() <= kLongestName) return name;
  const size_t half = kLongestName / 2 - 2;
  return name.substr(0, half) + "..." + name.substr(name.size() - half);
}

// The one benchmark of all `items`.
template <typename Items, typename BenchmarkOf>
std::string only_benchmark(const Items& items, const BenchmarkOf& name_of) {
  std::set<std::string> names;
  for (const auto& item : items) names.insert(name_of(item));
  if (names.size() > 1) {
    const bool unnamed = names.erase("") > 0;
    fail("runs of several benchmarks ({}{}): a plot shows one; choose it with --benchmark",
         fmt::join(names, ", "), unnamed ? ", some unnamed" : "");
  }
  return *names.begin();
}

// What an axis shows.
struct Span {
  double least = std::numeric_limits<double>::infinity(), most = 0;

  void take(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

// ---- Curves

// What is drawn of a run.
struct Line {
  const Curve* curve;
  std::vector<std::pair<double, double>> points;
  size_t series = 0;  // from 0
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

std::string why_left_out(const Curve& curve) {
  if (!curve.problem.empty()) return "cannot be read: " + curve.problem;
  if (!curve.evaluations.empty()) return "does not say after how many samples it was evaluated";
  if (curve.has_other_values) return "its eval_accuracy is not a number";
  return "has no evaluations";
}

struct Lines {
  std::vector<Line> lines;
  std::vector<std::pair<std::string, int>> series;  // and how many runs it has
};

Lines lines_of(const std::vector<Curve>& curves, CurveAxis axis,
               std::vector<std::string>& left_out) {
  Lines result;
  std::map<std::string, size_t> number_of;
  for (const Curve& curve : curves) {
    auto points = points_of(curve, axis);
    if (points.empty()) {
      left_out.push_back(fmt::format("{}: {}", curve.log.string(), why_left_out(curve)));
      continue;
    }
    const auto [number, first] = number_of.emplace(curve.series, result.series.size());
    if (first) result.series.emplace_back(curve.series, 0);
    ++result.series[number->second].second;
    result.lines.push_back({&curve, std::move(points), number->second});
  }
  return result;
}

// The target of all.
std::optional<double> common_target(const std::vector<Line>& lines) {
  const auto target = lines.front().curve->target;
  const bool common = std::all_of(lines.begin(), lines.end(),
                                  [&](const Line& line) { return line.curve->target == target; });
  return common ? target : std::nullopt;
}

bool is_logarithmic(const std::vector<Line>& lines) {
  Span all, ends;
  for (const Line& line : lines) {
    for (const auto& [x, y] : line.points) all.take(x);
    ends.take(line.points.back().first);
  }
  return all.least > 0 && ends.most > kFarApart * ends.least;
}

// The first eight differ in colour, the next eight in the shape of their points as well.
std::string look_of(size_t series) {
  constexpr int kColours = 8;
  constexpr int kShapes[] = {7, 5, 9, 11, 13, 15, 6, 4, 8, 10, 12, 14};
  const size_t shape = series / kColours % std::size(kShapes);
  return fmt::format("lt {} lw 1.5 pt {} ps {}", series % kColours + 1, kShapes[shape],
                     shape == 0 ? 0.3 : 0.8);
}

// The names of series, of runs that did not converge, and of the target.
std::vector<std::string> key_of(const Lines& drawn, std::optional<double> target) {
  std::vector<std::string> entries;
  for (size_t i = 0; i < std::min(drawn.series.size(), kMostTitles); ++i) {
    const auto& [name, runs] = drawn.series[i];
    const std::string title =
        runs == 1 ? shortened(name) : fmt::format("{} ({} runs)", shortened(name), runs);
    entries.push_back(
        fmt::format("keyentry with linespoints {} title {}", look_of(i), gnuplot_string(title)));
  }
  if (drawn.series.size() > kMostTitles) {
    entries.push_back(
        fmt::format("keyentry title 'and {} more'", drawn.series.size() - kMostTitles));
  }
  if (std::any_of(drawn.lines.begin(), drawn.lines.end(),
                  [](const Line& line) { return !line.curve->converged; })) {
    entries.push_back("keyentry with lines lc 'black' dt 2 title 'did not converge'");
  }
  if (target) {
    entries.push_back(
        fmt::format("{:.6g} with lines lc 'black' dt 3 title 'target {:.6g}'", *target, *target));
  }
  return entries;
}

// ---- Scores

std::string label_of(const Score& score) {
  std::string label = score.folder.owner();
  const SystemFacts& system = score.system;
  if (system.accelerators && !system.accelerator.empty()) {
    label += fmt::format(" ({} x {})", *system.accelerators, system.accelerator);
  }
  label = shortened(label);
  if (score.mean == Mean::kPlain) {
    label += fmt::format(", {}", score.counting_runs());
    if (score.runs_needed > 0) label += fmt::format(" of {}", score.runs_needed);
    label += " runs";
  }
  return label;
}

// Horizontal bars, the first at the top, with their numbers: a column of $scores, whose first one
// numbers the rows.
struct Bars {
  int column;
  std::string title;
  Span values;

  std::string script(size_t rows) const {
    const bool logarithmic = values.most > kFarApart * values.least;
    const double from = logarithmic ? values.least / 2 : 0,
                 to = logarithmic ? values.most * 4 : values.most * 1.25;
    return fmt::format(
        "{} logscale x\nset xrange [{:.6g}:{:.6g}]\nset yrange [{}:-0.5]\nset title {}\n"
        "plot $scores using {}:1:({:.6g}):{}:($1-0.35):($1+0.35) with boxxyerror lt 3 fs solid "
        "noborder notitle, \\\n"
        "  $scores using {}:1:(sprintf(' %.4g', ${})) with labels left notitle\n",
        logarithmic ? "set" : "unset", from, to, static_cast<double>(rows) - 0.5,
        gnuplot_string(title), column, from, column, column, column);
  }
};

std::string margins(double left, double right) {
  return fmt::format("set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\n", left, right);
}

}  // namespace

Plot plot_curves(const std::vector<Curve>& curves, const CurvePlotOptions& options) {
  Plot plot;
  const Lines drawn = lines_of(curves, options.axis, plot.left_out);
  if (drawn.lines.empty()) {
    fail("there is nothing to plot: {}", curves.empty() ? "no runs" : plot.left_out.front());
  }
  const std::string benchmark =
      only_benchmark(drawn.lines, [](const Line& line) { return line.curve->benchmark; });
  const bool counts_samples = benchmark == "bert" || benchmark.empty();
  const std::string axis = options.axis == CurveAxis::kMinutes ? "minutes since run_start"
                           : counts_samples                    ? "samples"
                                                               : "epochs or samples, as logged";
  const auto target = options.target ? options.target : common_target(drawn.lines);
  const std::vector<std::string> key = key_of(drawn, target);

  std::string data, lines;
  for (size_t i = 0; i < drawn.lines.size(); ++i) {
    const Line& line = drawn.lines[i];
    data += fmt::format("$run{} << EOD\n", i);
    for (const auto& [x, y] : line.points) data += fmt::format("{:.10g} {:.6g}\n", x, y);
    data += "EOD\n";
    lines += fmt::format("$run{} using 1:2 with linespoints {}{} notitle, \\\n  ", i,
                         look_of(line.series), line.curve->converged ? "" : " dt 2");
  }
  plot.drawn = drawn.lines.size();
  plot.picture.script = fmt::format(
      "{}set colorsequence podo\nset grid\nset key above left Left reverse maxcols 1\n{}\n"
      "set xlabel {}\nset ylabel {}\nplot {}{}\n",
      data, is_logarithmic(drawn.lines) ? "set logscale x" : "set xrange [0:*]",
      gnuplot_string(axis),
      gnuplot_string(benchmark.empty() ? "accuracy" : "accuracy, " + benchmark), lines,
      fmt::join(key, ", \\\n  "));
  plot.picture.height += kLine * static_cast<double>(key.size());
  return plot;
}

Plot plot_scores(const std::vector<Score>& scores) {
  Plot plot;
  std::vector<const Score*> fastest;
  for (const Score& score : scores) {
    if (score.time_to_train_ms && *score.time_to_train_ms > 0) {
      fastest.push_back(&score);
    } else {
      const std::string& reason = score.runs.empty() ? "" : score.runs.front().reason;
      plot.left_out.push_back(fmt::format("{}: has no time to train{}", score.folder.path.string(),
                                          reason.empty() ? "" : ": " + reason));
    }
  }
  if (fastest.empty()) fail("there is nothing to plot: no folder has a time to train");
  const std::string benchmark =
      only_benchmark(fastest, [](const Score* score) { return benchmark_of(*score); });
  std::stable_sort(fastest.begin(), fastest.end(), [](const Score* a, const Score* b) {
    return *a->time_to_train_ms < *b->time_to_train_ms;
  });
  Bars minutes{2, "minutes to train, " + benchmark, {}},
      rates{3, "sequences/s of an accelerator", {}};
  std::string data, names;
  size_t widest = 0;
  for (size_t i = 0; i < fastest.size(); ++i) {
    const Score& score = *fastest[i];
    const double time = *score.time_to_train_ms / kMsPerMinute;
    const auto rate = score.sequences_per_second_per_accelerator;
    minutes.values.take(time);
    if (rate) rates.values.take(*rate);
    data += fmt::format("{} {:.6g} {}\n", i, time, rate ? fmt::format("{:.6g}", *rate) : "NaN");
    const std::string label = label_of(score);
    widest = std::max(widest, label.size());
    // Labels of tics would be formats.
    names +=
        fmt::format("set label {} at graph -0.015, first {} right\n", gnuplot_string(label), i);
  }
  constexpr double kPanel = 3.5, kBetween = 0.2;
  const bool two = rates.values.most > 0;
  const double labels = 0.3 + kCharacter * static_cast<double>(widest);
  Picture& picture = plot.picture;
  picture.width = labels + (two ? 2 : 1) * (kPanel + kBetween);
  picture.height = 1.2 + kLine * static_cast<double>(fastest.size());
  const auto panel = [&](double begin) {
    return margins(begin / picture.width, (begin + kPanel) / picture.width);
  };
  picture.script = "$scores << EOD\n" + data + "EOD\nset grid x\nset xtics nomirror\n" +
                   "unset ytics\nset colorsequence podo\n" + (two ? "set multiplot\n" : "") +
                   names + panel(labels) + minutes.script(fastest.size());
  if (two) {
    picture.script += "unset label\n" + panel(labels + kPanel + kBetween) +
                      rates.script(fastest.size()) + "unset multiplot\n";
  }
  plot.drawn = fastest.size();
  return plot;
}

}  // namespace strata::results
