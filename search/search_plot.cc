#include "search/search_plot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <ranges>

#include "base/error.h"
#include "search/finalists.h"
#include "search/successive_halving.h"

namespace strata::search {
namespace {

using results::gnuplot_string;

constexpr double kWidth = 11, kHeight = 9;  // inches
// Numbers that differ by more are drawn on a logarithmic axis.
constexpr double kWideRange = 15;
constexpr char kWinner[] = "#d55e00", kBase[] = "#0072b2";

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

// Where values lie on a vertical line from 0 to 1.
class Axis {
 public:
  Axis(std::string name, std::vector<std::string> values) : name_(std::move(name)) {
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    const bool are_numbers = std::ranges::all_of(
        values, [](const std::string& text) { return number_of(text).has_value(); });
    if (!are_numbers) {
      names_ = std::move(values);
      return;
    }
    std::vector<double> numbers;
    for (const std::string& text : values) numbers.push_back(*number_of(text));
    std::tie(low_, high_) = std::pair(std::ranges::min(numbers), std::ranges::max(numbers));
    if (low_ > 0 && high_ / low_ > kWideRange) scale_ = Scale::kLogarithmic;
    if (low_ > 0.5 && high_ < 1 && (1 - low_) / (1 - high_) > kWideRange / 3) {
      scale_ = Scale::kNearOne;
    }
  }

  const std::string& name() const { return name_; }
  double place_of(const std::string& text) const {
    if (names_.empty()) return scaled(*number_of(text));
    const auto found = std::ranges::find(names_, text);
    return (static_cast<double>(found - names_.begin()) + 0.5) / static_cast<double>(names_.size());
  }
  // Labels and where they stand.
  std::vector<std::pair<std::string, double>> ticks() const {
    std::vector<std::pair<std::string, double>> ticks;
    for (const std::string& name : names_) ticks.emplace_back(name, place_of(name));
    if (names_.empty()) {
      ticks.emplace_back(fmt::format("{:.4g}", low_), scaled(low_));
      if (high_ > low_) ticks.emplace_back(fmt::format("{:.4g}", high_), scaled(high_));
    }
    return ticks;
  }

 private:
  enum class Scale : uint8_t { kLinear, kLogarithmic, kNearOne };

  double scaled(double value) const {
    if (!(high_ > low_)) return 0.5;
    const auto map = [&](double x) {
      if (scale_ == Scale::kLogarithmic) return std::log(x);
      return scale_ == Scale::kNearOne ? -std::log(1 - x) : x;
    };
    return (map(value) - map(low_)) / (map(high_) - map(low_));
  }

  std::string name_;
  std::vector<std::string> names_;  // of an axis that has no numbers
  double low_ = 0, high_ = 0;
  Scale scale_ = Scale::kLinear;
};

struct Line {
  int trial = 0;
  Settings settings;
  std::string accuracy;  // on rung 0
};

// The trials of rung 0 that did not fail, worst first, so that the best are drawn on top.
std::vector<Line> lines_of(const TrialLog& log) {
  std::vector<Line> lines;
  for (const FinishedRun& run : log.runs() | std::views::values) {
    if (run.run.stage != 0 || run.result.ending == Ending::kFailed) continue;
    lines.push_back({run.run.trial, run.settings, fmt::format("{:.4f}", run.result.accuracy)});
  }
  std::ranges::stable_sort(lines, {}, [](const Line& line) { return *number_of(line.accuracy); });
  return lines;
}

std::vector<Axis> axes_of(const std::vector<Line>& lines) {
  std::vector<std::string> keys;
  std::map<std::string, std::vector<std::string>> values;
  for (const Line& line : lines) {
    for (const auto& [key, value] : line.settings) {
      if (!values.contains(key)) keys.push_back(key);
      values[key].push_back(value);
    }
  }
  std::vector<Axis> axes;
  for (const std::string& key : keys) axes.emplace_back(key, values[key]);
  std::vector<std::string> accuracies;
  for (const Line& line : lines) accuracies.push_back(line.accuracy);
  axes.emplace_back("accuracy, rung 0", accuracies);
  return axes;
}

std::optional<int> winner_of(const SearchPlan& plan, const TrialLog& log) {
  const std::vector<Finalist> finalists = rank_finalists(plan, log);
  if (finalists.empty()) return std::nullopt;
  return finalists.front().trial;
}

std::string parallel_coordinates(const std::vector<Line>& lines, std::optional<int> winner) {
  const std::vector<Axis> axes = axes_of(lines);
  std::string data, labels;
  std::vector<std::string> curves;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    data += fmt::format("$trial{} << EOD\n", i);
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      const auto setting = std::ranges::find(line.settings, axes[axis].name(), &Setting::key);
      if (axis + 1 == axes.size()) {
        data += fmt::format("{} {:.6f}\n", axis, axes[axis].place_of(line.accuracy));
      } else if (setting != line.settings.end()) {
        data += fmt::format("{} {:.6f}\n", axis, axes[axis].place_of(setting->value));
      } else {
        data += "\n";  // not drawn for this trial: the line has a gap
      }
    }
    data += "EOD\n";
    const bool is_winner = winner == line.trial, is_base = line.trial == kBaseTrial;
    const auto grey = static_cast<int>(215.0 - 175.0 * static_cast<double>(i + 1) /
                                                   static_cast<double>(lines.size()));
    const std::string colour = is_winner ? kWinner
                               : is_base ? kBase
                                         : fmt::format("#{0:02x}{0:02x}{0:02x}", grey);
    curves.push_back(fmt::format(
        "$trial{} with linespoints pt 7 ps 0.5 lw {} lc rgb '{}' {}", i, is_winner ? 3 : 1.2,
        colour,
        is_winner ? "title " + gnuplot_string(fmt::format("winner: trial {}", line.trial))
        : is_base ? "title " + gnuplot_string("trial 0: the configuration as it is")
                  : std::string("notitle")));
  }
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    labels += fmt::format(
        "set arrow from {0},0 to {0},1 nohead lc rgb '#808080' back\n"
        "set label {1} at {0},1.09 center font ',10'\n",
        axis, gnuplot_string(axes[axis].name()));
    for (const auto& [text, place] : axes[axis].ticks()) {
      labels += fmt::format("set label {} at {},{:.6f} left font ',9' tc rgb '#404040' front\n",
                            gnuplot_string(text), static_cast<double>(axis) + 0.03, place);
    }
  }
  return fmt::format(
      "{}{}unset border\nunset tics\nset key at screen 0.5,0.99 center top horizontal\n"
      "set xrange [-0.2:{}]\nset yrange [-0.05:1.15]\nplot {}\n"
      "unset label\nunset arrow\nset border 3\nset tics nomirror\nunset key\n",
      data, labels, static_cast<double>(axes.size()) - 0.6, fmt::join(curves, ", \\\n  "));
}

std::string accuracy_over_seconds(const TrialLog& log, std::optional<int> winner) {
  std::map<int, std::string> rows;  // by stage
  for (const FinishedRun& run : log.runs() | std::views::values) {
    if (run.result.ending == Ending::kFailed) continue;
    const int colour = winner == run.run.trial ? 1 : run.run.trial == kBaseTrial ? 2 : 0;
    rows[run.run.stage] +=
        fmt::format("{:.9g} {:.9g} {}\n", run.result.seconds, 100 * run.result.accuracy, colour);
  }
  std::string data;
  std::vector<std::string> curves;
  for (const auto& [stage, text] : rows) {
    const size_t number = curves.size();
    data += fmt::format("$stage{} << EOD\n{}EOD\n", number, text);
    curves.push_back(fmt::format(
        "$stage{0} using 1:2:(colour($3)) with points pt {1} ps 1.2 lc rgb variable notitle, \\\n"
        "  NaN with points pt {1} ps 1.2 lc rgb '#606060' title {2}",
        number, number + 4, gnuplot_string(name_of_stage(stage))));
  }
  return fmt::format(
      "{}colour(c) = c == 1 ? 0x{} : c == 2 ? 0x{} : 0x808080\n"
      "set key default\nset key outside right center vertical\nset grid\nset autoscale\nset xrange "
      "[0:*]\n"
      "set xlabel 'seconds'\nset ylabel 'masked-LM accuracy, %'\nplot {}\n",
      data, kWinner + 1, kBase + 1, fmt::join(curves, ", \\\n  "));
}

}  // namespace

results::Plot plot_search(const SearchPlan& plan, const TrialLog& log) {
  results::Plot plot;
  const std::vector<Line> lines = lines_of(log);
  if (lines.empty()) fail("there is nothing to plot: no run of rung 0 has ended well");
  for (const FinishedRun& run : log.runs() | std::views::values) {
    if (run.result.ending != Ending::kFailed) {
      ++plot.drawn;
      continue;
    }
    plot.left_out.push_back(fmt::format("trial {}, {}: {}", run.run.trial,
                                        name_of_stage(run.run.stage), run.result.message));
  }
  const std::optional<int> winner = winner_of(plan, log);
  plot.picture.width = kWidth;
  plot.picture.height = kHeight;
  plot.picture.script = fmt::format(
      "set multiplot\nset size 1,0.55\nset origin 0,0.43\n{}set size 1,0.42\nset origin 0,0\n{}"
      "unset multiplot\n",
      parallel_coordinates(lines, winner), accuracy_over_seconds(log, winner));
  return plot;
}

}  // namespace strata::search
