#include "search/search_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <ranges>

#include "base/error.h"
#include "base/text/counts.h"
#include "drawing/chart.h"
#include "search/finalists.h"
#include "search/successive_halving.h"

namespace strata::search {
namespace {

using drawing::Drawing;
using drawing::Key;
using drawing::Owner;
using drawing::Shape;

// Numbers that differ by more are drawn on a logarithmic axis.
constexpr double kWideRange = 15;

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

// Maps values to positions on a vertical line from 0 to 1.
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
  // Returns labels and their positions.
  std::vector<std::pair<std::string, double>> ticks() const {
    std::vector<std::pair<std::string, double>> ticks;
    for (const std::string& name : names_) ticks.emplace_back(name, place_of(name));
    if (names_.empty()) {
      ticks.emplace_back(rounded_text(low_, 4), scaled(low_));
      if (high_ > low_) ticks.emplace_back(rounded_text(high_, 4), scaled(high_));
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
  std::vector<std::string> names_;  // names on an axis without numbers
  double low_ = 0, high_ = 0;
  Scale scale_ = Scale::kLinear;
};

struct Line {
  int trial = 0;
  Settings settings;
  std::string accuracy;  // accuracy on rung 0
};

// Returns the trials of rung 0 that did not fail, worst first, so that the best are drawn on top.
std::vector<Line> lines_of(const TrialLog& log) {
  std::vector<Line> lines;
  for (const FinishedRun& run : log.runs() | std::views::values) {
    if (run.run.stage != 0 || run.result.ending == Ending::kFailed) continue;
    lines.push_back({run.run.trial, run.settings, fmt::format("{:.4f}", run.result.accuracy)});
  }
  std::ranges::stable_sort(lines, {}, [](const Line& line) { return *number_of(line.accuracy); });
  return lines;
}

std::string tip_of(const Line& line) {
  return fmt::format("trial {}, accuracy {}: {}", line.trial, line.accuracy,
                     to_text(line.settings));
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

// Returns the colour of the winner, of the unchanged configuration, or of another trial.
Owner owner_of(int trial, std::optional<int> winner) {
  constexpr int kBase = 0, kWinner = 1;  // colours
  return Owner::coloured(winner == trial ? kWinner : trial == kBaseTrial ? kBase : -1);
}

Drawing parallel_coordinates(const std::vector<Line>& lines, std::optional<int> winner) {
  constexpr double kHeight = 360, kLeft = 60, kRight = 150;
  const std::vector<Axis> axes = axes_of(lines);
  double longest = 0;
  for (const Axis& axis : axes) longest = std::max(longest, drawing::width_of(axis.name()));
  const double top = drawing::kLegendHeight + 24 + longest / 2,
               bottom = top + kHeight;  // 30 degrees
  const double step =
      (drawing::kFileWidth - kLeft - kRight) / std::max(1.0, static_cast<double>(axes.size()) - 1);
  const auto x_of = [&](size_t axis) { return kLeft + step * static_cast<double>(axis); };
  const auto y_of = [&](double place) { return bottom - place * kHeight; };
  std::vector<Key> keys;
  if (winner) keys.push_back({Shape::kLine, 1, fmt::format("winner: trial {}", *winner)});
  if (winner != kBaseTrial) {
    keys.push_back({Shape::kLine, 0, "trial 0: the configuration as it is"});
  }
  keys.push_back({Shape::kLine, -1, "other trials (darker: better)"});
  std::string elements = drawing::legend(keys, 14, 0, drawing::kFileWidth);
  for (size_t i = 0; i < axes.size(); ++i) {
    elements +=
        fmt::format("<path class=\"guide\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>", x_of(i), top, bottom) +
        drawing::text_at(
            x_of(i), top - 10, axes[i].name(), "title",
            fmt::format(" transform=\"rotate(-30 {:.1f} {:.1f})\"", x_of(i), top - 10)) +
        '\n';
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    std::vector<std::pair<double, double>> points;
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      const auto setting = std::ranges::find(line.settings, axes[axis].name(), &Setting::key);
      const bool is_last = axis + 1 == axes.size();
      // A setting that was not drawn for this trial is a gap.
      const double place = is_last ? axes[axis].place_of(line.accuracy)
                           : setting != line.settings.end()
                               ? axes[axis].place_of(setting->value)
                               : std::numeric_limits<double>::quiet_NaN();
      points.emplace_back(x_of(axis), y_of(place));
    }
    const Owner owner = owner_of(line.trial, winner);
    const double rank = static_cast<double>(i + 1) / static_cast<double>(lines.size());
    elements += drawing::begin_group(owner) +
                fmt::format("<path class=\"{}\" opacity=\"{:.2f}\" d=\"{}\">{}</path>",
                            owner.colour < 0 ? "trial" : "line bold", 0.1 + 0.6 * rank,
                            drawing::path_of(points), drawing::tip_of(tip_of(line)));
    for (const auto& [x, y] : points) {
      if (!std::isnan(y)) elements += drawing::mark_at(Shape::kSmallDot, x, y);
    }
    elements += drawing::kEndGroup;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    for (const auto& [text, place] : axes[i].ticks()) {
      elements += drawing::text_at(x_of(i) + 6, y_of(place) + 4, text, "tick halo");
    }
  }
  return {drawing::kFileWidth, bottom + 36, elements};
}

Drawing accuracy_over_seconds(const TrialLog& log, std::optional<int> winner) {
  constexpr Shape kShapes[] = {Shape::kDot, Shape::kTriangle, Shape::kSquare, Shape::kDiamond,
                               Shape::kHollow};
  std::map<int, Shape> shapes;  // by stage
  drawing::Chart chart;
  std::vector<double> seconds, accuracies;
  for (const FinishedRun& run : log.runs() | std::views::values) {
    if (run.result.ending == Ending::kFailed) continue;
    const int stage = run.run.stage;
    shapes.emplace(stage, kShapes[std::min(shapes.size(), std::size(kShapes) - 1)]);
    seconds.push_back(run.result.seconds);
    accuracies.push_back(100 * run.result.accuracy);
    chart.points.push_back(
        {.owner = owner_of(run.run.trial, winner),
         .x = seconds.back(),
         .y = accuracies.back(),
         .tip = fmt::format("trial {}, {}: {:.2f} % after {:.4g} s", run.run.trial,
                            name_of_stage(stage), accuracies.back(), seconds.back()),
         .shape = shapes.at(stage)});
  }
  std::ranges::stable_partition(chart.points,
                                [](const drawing::Point& point) { return point.owner.colour < 0; });
  for (const auto& [stage, shape] : shapes)
    chart.legend.push_back({shape, -1, name_of_stage(stage)});
  chart.x = drawing::linear_axis(seconds, true, 0.1);
  chart.y = drawing::linear_axis(accuracies, false);
  chart.x_title = "seconds";
  chart.y_title = "masked-LM accuracy, %";
  chart.width = drawing::kFileWidth;
  return xy_chart(chart);
}

}  // namespace

drawing::Plot plot_search(const SearchPlan& plan, const TrialLog& log) {
  drawing::Plot plot;
  const std::vector<Line> lines = lines_of(log);
  if (lines.empty()) fail("there is nothing to plot: no run of rung 0 has succeeded");
  for (const FinishedRun& run : log.runs() | std::views::values) {
    if (run.result.ending != Ending::kFailed) {
      ++plot.drawn;
      continue;
    }
    plot.left_out.push_back(fmt::format("trial {}, {}: {}", run.run.trial,
                                        name_of_stage(run.run.stage), run.result.message));
  }
  const std::optional<int> winner = winner_of(plan, log);
  plot.picture = drawing::titled(
      fmt::format("Search: {}, {}", counted(lines.size(), "trial"), counted(plot.drawn, "run")),
      {parallel_coordinates(lines, winner), accuracy_over_seconds(log, winner)});
  return plot;
}

}  // namespace strata::search
