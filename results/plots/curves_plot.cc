#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <set>
#include <utility>

#include "base/error.h"
#include "compliance/checks/published_target.h"
#include "results/plots/accuracy_axis.h"
#include "results/plots/label_spread.h"
#include "results/plots/number_axis.h"
#include "results/plots/plot_parts.h"
#include "results/plots/plots.h"
#include "results/system_names.h"

namespace strata::results {
namespace {

// ---- What is drawn

// A run.
struct Line {
  const Curve* curve;
  std::vector<std::pair<double, double>> points;

  double end() const { return points.back().first; }
};

// The runs of a series.
struct System {
  std::string name, label;
  std::string submitter;
  std::vector<Line> lines;
  size_t median = 0;  // the line with the label
  std::string_view colour = kGrey;
  bool is_labelled = false;

  const Line& median_line() const { return lines[median]; }
  double end() const { return median_line().end(); }
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
  if (!curve.evaluations.empty()) return "without the samples after which it was evaluated";
  if (curve.has_other_values) return "has an eval_accuracy that is not a number";
  return "without evaluations";
}

// A line for each log, or for all logs of a folder that are left out for the same reason.
class LeftOut {
 public:
  void add(const Curve& curve) {
    const std::string reason = why_left_out(curve);
    std::vector<std::string>& logs = logs_[{curve.log.parent_path().string(), reason}];
    if (logs.empty()) order_.push_back({curve.log.parent_path().string(), reason});
    logs.push_back(curve.log.string());
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const auto& place : order_) {
      const std::vector<std::string>& logs = logs_.at(place);
      const auto& [folder, reason] = place;
      lines.push_back(logs.size() == 1
                          ? fmt::format("{}: {}", logs.front(), reason)
                          : fmt::format("{}: {}: {}", folder, counted(logs.size(), "log"), reason));
    }
    return lines;
  }

 private:
  using Place = std::pair<std::string, std::string>;  // folder and reason
  std::map<Place, std::vector<std::string>> logs_;
  std::vector<Place> order_;
};

// The line of the run that is the median of all runs with evaluations, so that it is the same over
// time and over samples; of those that are drawn if that run is not.
size_t median_of(const std::vector<Line>& lines, const std::vector<const Curve*>& runs) {
  const Curve* const median = runs[median_run(runs)];
  const auto found = std::ranges::find(lines, median, &Line::curve);
  if (found != lines.end()) return static_cast<size_t>(found - lines.begin());
  std::vector<const Curve*> drawn;
  for (const Line& line : lines) drawn.push_back(line.curve);
  return median_run(drawn);
}

void name_systems(std::vector<System>& systems) {
  constexpr size_t kLongestName = 46;
  std::vector<std::string> names;
  for (const System& system : systems) names.push_back(system.name);
  names = shortened_apart(names, kLongestName);
  for (size_t i = 0; i < systems.size(); ++i) {
    const Curve& curve = *systems[i].lines.front().curve;
    const std::string accelerators = accelerators_in_short(curve.accelerators, curve.accelerator);
    systems[i].label = names[i] + (accelerators.empty() ? "" : ", " + accelerators);
  }
}

// Fastest first.
std::vector<System> systems_of(const std::vector<Curve>& curves, CurveAxis axis,
                               LeftOut& left_out) {
  std::vector<System> systems;
  std::map<std::string, size_t> number_of;
  std::map<std::string, std::vector<const Curve*>> runs;  // with evaluations, by series
  for (const Curve& curve : curves) {
    if (!curve.evaluations.empty()) runs[curve.series].push_back(&curve);
    auto points = points_of(curve, axis);
    if (points.empty()) {
      left_out.add(curve);
      continue;
    }
    const auto [number, first] = number_of.emplace(curve.series, systems.size());
    if (first) systems.push_back({.name = curve.series, .submitter = curve.submitter});
    systems[number->second].lines.push_back({&curve, std::move(points)});
  }
  for (System& system : systems) system.median = median_of(system.lines, runs[system.name]);
  name_systems(systems);
  std::stable_sort(systems.begin(), systems.end(),
                   [](const System& a, const System& b) { return a.end() < b.end(); });
  return systems;
}

template <typename Visit>
void visit_lines(const std::vector<System>& systems, const Visit& visit) {
  for (const System& system : systems) {
    for (const Line& line : system.lines) visit(line);
  }
}

std::vector<const Curve*> curves_of(const std::vector<System>& systems) {
  std::vector<const Curve*> curves;
  visit_lines(systems, [&](const Line& line) { curves.push_back(line.curve); });
  return curves;
}

// The target that all logs name, else MLPerf's where none names one.
std::optional<double> target_of(const std::vector<const Curve*>& curves) {
  const Curve& first = *curves.front();
  const auto of = [](const Curve& curve) {
    return curve.target ? curve.target : compliance::published_target(curve.benchmark, curve.round);
  };
  for (const Curve* curve : curves) {
    if (curve->target != first.target || of(*curve) != of(first)) return std::nullopt;
  }
  return of(first);
}

NumberAxis x_axis_of(const std::vector<System>& systems) {
  double least = std::numeric_limits<double>::infinity(), most = 0, first_end = least;
  visit_lines(systems, [&](const Line& line) {
    for (const auto& [x, y] : line.points) {
      least = std::min(least, x);
      most = std::max(most, x);
    }
    first_end = std::min(first_end, line.end());
  });
  // It is what runs took, not when they were evaluated, that may be far apart.
  const NumberAxis axis = NumberAxis::of(first_end, most);
  return axis.is_logarithmic() && least > 0 ? NumberAxis::of(least, most)
         : least >= 0                       ? NumberAxis::from_zero(most)
                                            : NumberAxis::of(least, most);
}

// ---- Where things are

// In inches, from the lower left corner.
constexpr double kWidth = 11, kLeft = 0.85, kRight = 9.45, kBottom = 0.6, kTop = 5.3, kTitle = 0.4;

double x_of(const System& system, const NumberAxis& axis) {
  return kLeft + axis.place(system.end()) * (kRight - kLeft);
}

// Of labels that stand side by side.
constexpr double kLabelDegrees = 55;

// A label above the plot.
struct Label {
  const System* system;
  double end;  // of the system's median run
  double x, y;
  bool slanted;
  bool is_left_of_it = false;  // the text ends at x
};

struct LabelBand {
  std::vector<Label> labels;
  double height = 0;
};

// Chooses which systems have labels where only so many fit: the fastest of each submitter, then
// those that end farthest from any that has one.
void choose_labelled(std::vector<System>& systems, size_t most, const NumberAxis& axis) {
  for (System& system : systems) system.is_labelled = systems.size() <= most;
  if (systems.size() <= most) return;
  std::vector<double> distance(systems.size(), std::numeric_limits<double>::infinity());
  size_t labelled = 0;
  const auto label = [&](size_t chosen) {
    systems[chosen].is_labelled = true;
    ++labelled;
    const double place = axis.place(systems[chosen].end());
    for (size_t i = 0; i < systems.size(); ++i) {
      distance[i] = systems[i].is_labelled
                        ? -1
                        : std::min(distance[i], std::abs(axis.place(systems[i].end()) - place));
    }
  };
  std::set<std::string> submitters;
  for (size_t i = 0; i < systems.size() && labelled < most; ++i) {
    if (submitters.insert(systems[i].submitter).second) label(i);
  }
  while (labelled < most) {
    label(
        static_cast<size_t>(std::max_element(distance.begin(), distance.end()) - distance.begin()));
  }
}

std::vector<const System*> labelled(const std::vector<System>& systems) {
  std::vector<const System*> chosen;
  for (const System& system : systems) {
    if (system.is_labelled) chosen.push_back(&system);
  }
  return chosen;
}

// A row each, the fastest at the bottom, beside the line that leads up to it.
LabelBand flat_labels(std::vector<System>& systems, const NumberAxis& axis) {
  constexpr double kRow = 0.19, kGap = 0.06;
  choose_labelled(systems, systems.size(), axis);
  LabelBand band;
  for (const System* system : labelled(systems)) {
    const double end = x_of(*system, axis), width = width_of(system->label);
    const bool left = width + kGap < end;
    band.height += kRow;
    band.labels.push_back({system, end, left ? end - kGap : std::min(end + kGap, kWidth - width),
                           kTop + band.height, false, left});
  }
  band.height += kRow;
  return band;
}

// Beside one another, as near to their ends as can be, of as many systems as there is room for.
LabelBand slanted_labels(std::vector<System>& systems, const NumberAxis& axis) {
  constexpr double kLeaders = 0.55, kFirst = 0.3;
  const double radians = kLabelDegrees * std::numbers::pi / 180,
               spacing = kLineHeight / std::sin(radians);
  size_t most = labels_that_fit(spacing, kFirst, kRight + 0.3);
  std::vector<const System*> chosen;
  double last = 0;
  do {
    choose_labelled(systems, most, axis);
    chosen = labelled(systems);
    // So far to the left that no label ends beyond the picture.
    last = kRight + 0.3;
    for (size_t i = 0; i < chosen.size(); ++i) {
      const double end = kWidth - 0.1 - width_of(chosen[i]->label) * std::cos(radians);
      last = std::min(last, end + spacing * static_cast<double>(chosen.size() - 1 - i));
    }
  } while (labels_that_fit(spacing, kFirst, last) < chosen.size() && --most > 0);

  LabelBand band;
  std::vector<double> ends;
  double longest = 0;
  for (const System* system : chosen) {
    ends.push_back(x_of(*system, axis));
    longest = std::max(longest, width_of(system->label));
  }
  const std::vector<double> places = spread_labels(ends, spacing, kFirst, last);
  for (size_t i = 0; i < chosen.size(); ++i) {
    band.labels.push_back({chosen[i], ends[i], places[i], kTop + kLeaders, true});
  }
  band.height = kLeaders + longest * std::sin(radians);
  return band;
}

LabelBand place_labels(std::vector<System>& systems, const NumberAxis& axis) {
  constexpr size_t kFew = 8;
  return systems.size() <= kFew ? flat_labels(systems, axis) : slanted_labels(systems, axis);
}

// Colours in the order of median runs by their time, whatever the axis is; paler grey for systems
// without a label.
void choose_colours(std::vector<System>& systems) {
  std::vector<System*> order;
  for (System& system : systems) order.push_back(&system);
  const auto minutes = [](const System* system) {
    return system->median_line().curve->evaluations.back().minutes;
  };
  std::ranges::stable_sort(order, {}, minutes);
  std::vector<NamedSystem> names;
  for (const System* system : order) names.push_back({system->name, system->submitter});
  const std::vector<size_t> numbers = colour_numbers(names);
  for (size_t i = 0; i < order.size(); ++i) {
    order[i]->colour = !order[i]->is_labelled             ? kPaleGrey
                       : numbers[i] < std::size(kColours) ? kColours[numbers[i]]
                                                          : kGrey;
  }
}

// ---- gnuplot's script

std::string text_at(const std::string& place, std::string_view text,
                    std::string_view options = "left") {
  return fmt::format("set label {} at {} {}\n", gnuplot_string(text), place, options);
}

// Labels, and thin lines to them from the ends of median runs.
std::string script_of(const LabelBand& band, const AccuracyAxis& accuracies, double height) {
  const auto screen = [&](double x, double y) {
    return fmt::format("screen {:.4f}, screen {:.4f}", x / kWidth, y / height);
  };
  std::string script;
  for (const Label& label : band.labels) {
    const System& system = *label.system;
    const auto& [x, y] = system.median_line().points.back();
    const std::string look = fmt::format("nohead lc rgb '#{}' lw 0.5 back\n", system.colour);
    const std::string top = screen(label.end, label.slanted ? kTop + 0.08 : label.y);
    script +=
        fmt::format("set arrow from {:.10g}, {:.6g} to {} {}", x, accuracies.place(y), top, look);
    if (label.slanted) {
      script +=
          fmt::format("set arrow from {} to {} {}", top, screen(label.x, label.y - 0.08), look);
    }
    script +=
        text_at(screen(label.x, label.y), system.label,
                fmt::format("{}{} textcolor rgb '#{}'", label.is_left_of_it ? "right" : "left",
                            label.slanted ? fmt::format(" rotate by {:.0f}", kLabelDegrees) : "",
                            system.colour == kGrey ? "555555" : system.colour));
  }
  return script;
}

// Of y, as gnuplot reads it.
std::string axis_formula(const AccuracyAxis& axis) {
  const auto piece = [&](double from, double to) {
    const double low = axis.place(from), high = axis.place(to);
    return fmt::format("{:.10g} + (y - {:.10g}) * {:.10g}", low, from,
                       from < to ? (high - low) / (to - from) : 0);
  };
  const double from = axis.stretched_from(), to = axis.stretched_to();
  std::string formula = piece(from, to);
  if (from > axis.least()) {
    formula = fmt::format("y < {:.10g} ? {} : {}", from, piece(axis.least(), from), formula);
  }
  if (to < axis.most()) {
    formula = fmt::format("y > {:.10g} ? {} : {}", to, piece(to, axis.most()), formula);
  }
  return formula;
}

// The axis of accuracies as gnuplot's function place(), and what is drawn of it.
std::string script_of(const AccuracyAxis& axis, std::optional<double> target) {
  const auto beside = [&](double accuracy, double lines) {
    return fmt::format("graph 1.01, first {:.6g} offset 0, {}", axis.place(accuracy), lines);
  };
  std::string script = "place(y) = " + axis_formula(axis) + '\n';
  if (axis.break_at()) {
    const double from = axis.stretched_from(), to = axis.stretched_to();
    script += fmt::format(
        "set object rectangle from graph 0, first {:.6g} to graph 1, first {:.6g} behind "
        "fc rgb '#f1f1f1' fs noborder\n",
        axis.place(from), axis.place(to));
    const double at = *axis.break_at();
    const bool rises = at == from, ends = rises ? to == axis.most() : from == axis.least();
    const double first = rises ? 1.7 : -0.7;
    script +=
        text_at(beside(at, first), ends ? fmt::format("{} {:.4g}:", rises ? "above" : "below", at)
                                        : fmt::format("{:.4g} to {:.4g}:", from, to));
    script += text_at(beside(at, first - 1), fmt::format("stretched {:.0f} x", axis.stretch()));
  }
  std::string tics;
  for (const double tick : axis.ticks()) {
    tics += fmt::format("{}'{:.6g}' {:.6g}", tics.empty() ? "" : ", ", tick, axis.place(tick));
  }
  script += fmt::format("set ytics ({})\nset yrange [-0.03:1.03]\n", tics);
  if (target) {
    script += fmt::format(
        "set arrow from graph 0, first {0:.6g} to graph 1, first {0:.6g} nohead lw 1.5 dt 3 "
        "front\n",
        axis.place(*target));
    script += text_at(beside(*target, 0), fmt::format("target {:.6g}", *target));
  }
  return script;
}

// A run's points, and how they are drawn.
struct Drawn {
  const Line* line;
  std::string_view colour;
  bool is_median;
};

// What is drawn later lies above: medians above runs, colours above grey.
std::vector<Drawn> in_drawing_order(const std::vector<System>& systems) {
  std::vector<Drawn> order;
  for (const System& system : systems) {
    for (size_t i = 0; i < system.lines.size(); ++i) {
      order.push_back({&system.lines[i], system.colour, i == system.median});
    }
  }
  const auto layer = [](const Drawn& drawn) {
    const int colour = drawn.colour == kPaleGrey ? 0 : drawn.colour == kGrey ? 1 : 2;
    return std::pair(colour > 0, drawn.is_median ? colour + 3 : colour);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const Drawn& a, const Drawn& b) { return layer(a) < layer(b); });
  return order;
}

std::string look_of(const Drawn& drawn, bool with_points) {
  // Evaluations that stand alone would else not be seen.
  const bool points = with_points || drawn.line->points.size() == 1;
  return fmt::format("with {} lc rgb '#{}{}' lw {}{}{} notitle", points ? "linespoints" : "lines",
                     drawn.is_median ? "" : "80", drawn.colour, drawn.is_median ? 2 : 0.7,
                     points ? " pt 7 ps 0.4" : "", drawn.line->curve->converged ? "" : " dt 2");
}

// What lines mean, at the foot of the picture.
std::string notes_of(const std::vector<System>& systems, bool has_target, double height) {
  bool several = false, failed = false;
  size_t others = 0;
  for (const System& system : systems) {
    several = several || system.lines.size() > 1;
    others += system.is_labelled ? 0 : 1;
  }
  visit_lines(systems, [&](const Line& line) { failed = failed || !line.curve->converged; });
  std::vector<std::string> notes;
  if (several) notes.emplace_back("thick: median run");
  if (failed) notes.emplace_back(has_target ? "dashed: not reached" : "dashed: no success");
  if (others > 0) notes.push_back(fmt::format("pale grey: {}", counted(others, "other")));
  if (notes.empty()) return "";
  return text_at(fmt::format("screen {:.4f}, screen {:.4f}", 1 - 0.15 / kWidth, 0.16 / height),
                 fmt::format("{}", fmt::join(notes, ";  ")), "right");
}

std::string title_of(const std::vector<System>& systems, const std::string& benchmark,
                     CurveAxis axis) {
  size_t runs = 0;
  std::set<std::string> rounds;
  visit_lines(systems, [&](const Line& line) {
    ++runs;
    rounds.insert(round_in_short(line.curve->round));
  });
  std::string title = benchmark.empty() ? "" : benchmark + ", ";
  if (!rounds.contains("")) {
    title += fmt::format("MLPerf Training {}, ", fmt::join(rounds, ", "));
  }
  return title + fmt::format("accuracy over {}: {}, {}",
                             axis == CurveAxis::kMinutes ? "time" : "samples",
                             counted(systems.size(), "system"), counted(runs, "run"));
}

std::string x_title(const std::string& benchmark, CurveAxis axis) {
  if (axis == CurveAxis::kMinutes) return "minutes since run_start";
  return benchmark == "bert" || benchmark.empty() ? "samples" : "epochs or samples, as logged";
}

}  // namespace

Plot plot_curves(const std::vector<Curve>& curves, const CurvePlotOptions& options) {
  Plot plot;
  LeftOut left_out;
  std::vector<System> systems = systems_of(curves, options.axis, left_out);
  plot.left_out = left_out.lines();
  if (systems.empty()) {
    fail("there is nothing to plot: {}", curves.empty() ? "no runs" : plot.left_out.front());
  }
  const std::vector<const Curve*> drawn = curves_of(systems);
  const std::string benchmark =
      only_benchmark(drawn, [](const Curve* curve) { return curve->benchmark; });
  const auto target = options.target ? options.target : target_of(drawn);
  const NumberAxis axis = x_axis_of(systems);
  const AccuracyAxis accuracies = AccuracyAxis::of(drawn, target);
  const LabelBand labels = place_labels(systems, axis);
  choose_colours(systems);

  constexpr size_t kFewRuns = 12;
  std::string data, lines;
  const std::vector<Drawn> order = in_drawing_order(systems);
  for (size_t i = 0; i < order.size(); ++i) {
    data += fmt::format("$run{} << EOD\n", i);
    for (const auto& [x, y] : order[i].line->points) {
      data += fmt::format("{:.10g} {:.10g}\n", x, y);
    }
    data += "EOD\n";
    lines += fmt::format("{}$run{} using 1:(place($2)) {}", i == 0 ? "" : ", \\\n  ", i,
                         look_of(order[i], order.size() <= kFewRuns));
  }
  plot.drawn = order.size();
  const double height = kTop + labels.height + kTitle;
  plot.picture.width = kWidth;
  plot.picture.height = height;
  const auto margin = [](const char* side, double share) {
    return fmt::format("set {}margin at screen {:.4f}\n", side, share);
  };
  plot.picture.script =
      data + margin("l", kLeft / kWidth) + margin("r", kRight / kWidth) +
      margin("b", kBottom / height) + margin("t", kTop / height) +
      fmt::format("{}set xrange [{:.10g}:{:.10g}]\nset xtics {}\nset xlabel {}\nset ylabel {}\n",
                  axis.is_logarithmic() ? "set logscale x\n" : "", axis.from(), axis.to(),
                  tics_at(axis.ticks()), gnuplot_string(x_title(benchmark, options.axis)),
                  gnuplot_string(benchmark == "bert" ? "masked-LM accuracy" : "accuracy")) +
      "set grid lc rgb '#dddddd' lw 0.5 lt 1\nset tics nomirror\n" + script_of(accuracies, target) +
      notes_of(systems, target.has_value(), height) +
      text_at(fmt::format("screen {:.4f}, screen {:.4f}", kLeft / kWidth, 1 - 0.2 / height),
              title_of(systems, benchmark, options.axis), "left font ':Bold'") +
      script_of(labels, accuracies, height) + "plot " + lines + '\n';
  return plot;
}

}  // namespace strata::results
