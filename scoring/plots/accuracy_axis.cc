#include "scoring/plots/accuracy_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/timing.h"

namespace strata::scoring {
namespace {

constexpr double kLeastStretch = 2;
// Shares of the height for the range near the target and the range far beyond it.
constexpr double kNear = 0.6, kBeyond = 0.12;

// Returns the position of `value` between `from` and `to`, as a share.
double share(double value, double from, double to) {
  // The difference of two numbers may overflow.
  if (!std::isfinite(to - from)) return (value / 2 - from / 2) / (to / 2 - from / 2);
  return (value - from) / (to - from);
}

// Returns the accuracy of the first evaluation in the second half of a run's time. Requires
// evaluations before and after it; else nullopt.
std::optional<double> late_accuracy(const Curve& curve) {
  const auto& evaluations = curve.evaluations;
  if (evaluations.empty()) return std::nullopt;
  const double half = evaluations.back().minutes / 2;
  const auto late = std::find_if(evaluations.begin(), evaluations.end(),
                                 [&](const Evaluation& one) { return one.minutes > half; });
  if (late == evaluations.begin() || late >= evaluations.end() - 1) return std::nullopt;
  return late->accuracy;
}

// Returns the last multiple of `step` that is passed on the way up, or down, to `value`.
double round_before(double value, double step, bool downwards) {
  return step * (downwards ? std::ceil(value / step - 1e-6) : std::floor(value / step + 1e-6));
}

}  // namespace

AccuracyAxis AccuracyAxis::of(std::span<const Curve* const> curves, std::optional<double> target) {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  std::vector<double> late, risen, lowest, highest;
  for (const Curve* curve : curves) {
    if (curve->evaluations.empty()) continue;
    const auto [low, high] =
        std::minmax_element(curve->evaluations.begin(), curve->evaluations.end(),
                            [](const auto& a, const auto& b) { return a.accuracy < b.accuracy; });
    least = std::min(least, low->accuracy);
    most = std::max(most, high->accuracy);
    if (const auto accuracy = late_accuracy(*curve)) {
      late.push_back(*accuracy);
      risen.push_back(*accuracy - curve->evaluations.front().accuracy);
      lowest.push_back(low->accuracy);
      highest.push_back(high->accuracy);
    }
  }
  if (target) {
    least = std::min(least, *target);
    most = std::max(most, *target);
  }
  if (least > most) return {0, 1};
  AccuracyAxis axis(least, most);
  if (target && !late.empty()) {
    const bool falls = median(risen) < 0;
    axis.break_for(*target, median(late), median(falls ? lowest : highest), falls);
  }
  return axis;
}

// `late` is the median run's accuracy in the second half of its time, `median_best` its best one.
void AccuracyAxis::break_for(double target, double late, double median_best, bool falls) {
  if (falls ? late <= target : late >= target) return;
  const double least = this->least(), most = this->most();
  const double begin = falls ? most : least, end = falls ? least : most;
  // Most runs need this much beyond the target, and a little space.
  const double sign = falls ? -1 : 1, way = std::abs(target - late),
               needed = target + sign * std::max(sign * (median_best - target), way / 4);
  const bool goes_far = std::abs(end - needed) > way && sign * (end - needed) > 0;
  const double step = drawing::round_step(std::abs((goes_far ? needed : end) - late) / 5);
  if (!(step > 0) || !std::isfinite(step)) return;
  const double break_at = round_before(late, step, falls),
               stretched_end = goes_far ? round_before(needed, step, !falls) : end;
  // Rounding may leave no range, or reach an end.
  if (!(sign * break_at > sign * begin && sign * stretched_end > sign * break_at &&
        sign * stretched_end <= sign * end)) {
    return;
  }
  const double beyond = stretched_end == end ? 0 : kBeyond, before = 1 - kNear - beyond;
  const double stretch = kNear / before * share(break_at, begin, stretched_end) /
                         (1 - share(break_at, begin, stretched_end));
  if (stretch < kLeastStretch) return;
  break_at_ = break_at;
  stretch_ = stretch;
  knots_ = {{begin, 0}, {break_at, before}};
  if (beyond > 0) knots_.push_back({stretched_end, 1 - beyond});
  knots_.push_back({end, 1});
  if (falls) {
    std::reverse(knots_.begin(), knots_.end());
    for (Knot& knot : knots_) knot.place = 1 - knot.place;
  }
  stretched_from_ = std::min(break_at, stretched_end);
  stretched_to_ = std::max(break_at, stretched_end);
}

double AccuracyAxis::place(double accuracy) const {
  if (least() == most()) return 0.5;
  auto high = knots_.begin() + 1;
  while (high + 1 != knots_.end() && high->accuracy < accuracy) ++high;
  const auto low = high - 1;
  return low->place + (high->place - low->place) * share(accuracy, low->accuracy, high->accuracy);
}

drawing::Axis AccuracyAxis::axis() const {
  return {.place = [axis = *this](double accuracy) { return axis.place(accuracy); },
          .ticks = ticks(),
          .label = [](double accuracy) { return fmt::format("{:.6g}", accuracy); }};
}

std::vector<double> AccuracyAxis::ticks(double apart) const {
  std::vector<double> ticks;
  const auto add = [&](double accuracy) {
    const bool is_apart = std::all_of(ticks.begin(), ticks.end(), [&](double tick) {
      return std::abs(place(tick) - place(accuracy)) > apart * (1 - 1e-6);
    });
    if (is_apart) ticks.push_back(accuracy);
  };
  for (size_t i = 1; i + 1 < knots_.size(); ++i) add(knots_[i].accuracy);
  for (size_t i = 1; i < knots_.size(); ++i) {
    const Knot &low = knots_[i - 1], &high = knots_[i];
    const double least_step = apart / (high.place - low.place) * (high.accuracy - low.accuracy);
    for (const double number : drawing::round_numbers(low.accuracy, high.accuracy, least_step))
      add(number);
  }
  std::sort(ticks.begin(), ticks.end());
  return ticks;
}

}  // namespace strata::scoring
