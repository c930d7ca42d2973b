#include "results/accuracy_axis.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/timing.h"

namespace strata::results {
namespace {

constexpr double kLeastStretch = 2;

// The share of the way from `from` to `to`.
double share(double value, double from, double to) {
  // The way between two numbers may be none.
  if (!std::isfinite(to - from)) return (value / 2 - from / 2) / (to / 2 - from / 2);
  return (value - from) / (to - from);
}

// The least of 1, 2 and 5 times a power of ten that is at least `value`.
double round_step(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (times * power >= value * (1 - 1e-9)) return times * power;
  }
  return 10 * power;
}

// From `from` to `to` in round steps of at least `least_step`.
std::vector<double> round_numbers(double from, double to, double least_step) {
  std::vector<double> numbers;
  const double step = round_step(least_step);
  if (!(step > 0) || !std::isfinite(step)) return numbers;
  const double first = std::ceil(from / step - 1e-6), last = std::floor(to / step + 1e-6);
  // Numbers that are all but equal have no round ones between them.
  if (!(std::abs(first) < 1e12 && std::abs(last) < 1e12)) return numbers;
  for (double i = first; i <= last; ++i) numbers.push_back(i * step);
  return numbers;
}

// Of a run that has evaluations before it and after it: the accuracy of the first in the second
// half of its time.
std::optional<double> late_accuracy(const Curve& curve) {
  const auto& evaluations = curve.evaluations;
  if (evaluations.empty()) return std::nullopt;
  const double half = evaluations.back().minutes / 2;
  const auto late = std::find_if(evaluations.begin(), evaluations.end(),
                                 [&](const Evaluation& one) { return one.minutes > half; });
  if (late == evaluations.begin() || late >= evaluations.end() - 1) return std::nullopt;
  return late->accuracy;
}

}  // namespace

AccuracyAxis AccuracyAxis::of(std::span<const Curve* const> curves, std::optional<double> target) {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  std::vector<double> late, risen;
  for (const Curve* curve : curves) {
    for (const Evaluation& evaluation : curve->evaluations) {
      least = std::min(least, evaluation.accuracy);
      most = std::max(most, evaluation.accuracy);
    }
    if (const auto accuracy = late_accuracy(*curve)) {
      late.push_back(*accuracy);
      risen.push_back(*accuracy - curve->evaluations.front().accuracy);
    }
  }
  if (target) {
    least = std::min(least, *target);
    most = std::max(most, *target);
  }
  if (least > most) return {0, 1};
  AccuracyAxis axis(least, most);
  if (!target || late.empty()) return axis;

  axis.stretches_above_ = median(risen) >= 0;
  const double near = median(late), end = axis.stretches_above_ ? most : least;
  if (axis.stretches_above_ ? near >= *target : near <= *target) return axis;
  const double step = round_step(std::abs(end - near) / 5);
  if (!(step > 0) || !std::isfinite(step)) return axis;
  const double break_at = step * (axis.stretches_above_ ? std::floor(near / step + 1e-6)
                                                        : std::ceil(near / step - 1e-6));
  if (!(break_at > least && break_at < most)) return axis;
  axis.break_at_ = break_at;
  if (axis.stretch() < kLeastStretch) axis.break_at_.reset();
  return axis;
}

double AccuracyAxis::place(double accuracy) const {
  if (least_ == most_) return 0.5;
  if (!break_at_) return share(accuracy, least_, most_);
  return accuracy < *break_at_
             ? break_place() * share(accuracy, least_, *break_at_)
             : break_place() + (1 - break_place()) * share(accuracy, *break_at_, most_);
}

double AccuracyAxis::stretch() const {
  if (!break_at_) return 1;
  const double above = (1 - break_place()) / share(most_, *break_at_, *break_at_ + 1),
               below = break_place() / share(*break_at_, least_, least_ + 1);
  return stretches_above_ ? above / below : below / above;
}

std::vector<double> AccuracyAxis::ticks(double apart) const {
  if (!break_at_) return round_numbers(least_, most_, apart * (most_ - least_));
  const double below = apart / break_place() * (*break_at_ - least_),
               above = apart / (1 - break_place()) * (most_ - *break_at_);
  std::vector<double> numbers = round_numbers(least_, *break_at_, below);
  while (!numbers.empty() && place(numbers.back()) > place(*break_at_) - apart * (1 - 1e-6)) {
    numbers.pop_back();
  }
  numbers.push_back(*break_at_);
  for (const double number : round_numbers(*break_at_, most_, above)) {
    if (place(number) >= place(*break_at_) + apart * (1 - 1e-6)) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace strata::results
