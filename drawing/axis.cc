#include "drawing/axis.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "drawing/text.h"

namespace strata::drawing {
namespace {

constexpr double kFarApart = 20;

std::string tick_text(double value) {
  constexpr int kDigits = 6;  // neighbouring ticks may differ only in the last digits
  return short_number(std::abs(value) < 1e-12 ? 0 : value, kDigits);
}

Axis make_linear(double low, double high, double apart) {
  // If values are closer than floating-point precision, there are no ticks between them.
  constexpr double kDigits = 1e-12, kLeast = 1e-290;
  const double size = std::max(std::abs(low), std::abs(high));
  if (!(high - low > std::max(kLeast, kDigits * size))) {
    high = low + (size < kLeast ? 1 : size * 0.1);
  }
  return {.place = [low, high](double value) { return (value - low) / (high - low); },
          .ticks = round_numbers(low, high, apart * (high - low)),
          .label = tick_text};
}

Axis make_logarithmic(double low, double high, double apart) {
  const double from = std::log10(low), decades = std::log10(high) - from;
  Axis axis{.place = [from, decades](double value) { return (std::log10(value) - from) / decades; },
            .ticks = {},
            .label = tick_text};
  // The smallest gap between 1, 2, 5 and 10 is log10(2).
  const bool between = std::log10(2) >= apart * decades;
  const double step = std::max(1.0, std::ceil(apart * decades));
  for (double power = std::floor(from); power <= std::log10(high); ++power) {
    if (std::fmod(power, step) != 0) continue;
    for (const double factor : {1, 2, 5}) {
      const double tick = factor * std::pow(10, power);
      if (tick < low * (1 - 1e-9) || tick > high * (1 + 1e-9)) continue;
      if (between || factor == 1) axis.ticks.push_back(tick);
    }
  }
  return axis;
}

// Returns the smallest and the largest value that can be shown.
std::optional<std::pair<double, double>> range_of(const std::vector<double>& values) {
  std::optional<std::pair<double, double>> range;
  for (const double value : values) {
    if (!(std::abs(value) <= kMostShown)) continue;
    if (!range) range = {value, value};
    range = {std::min(range->first, value), std::max(range->second, value)};
  }
  return range;
}

}  // namespace

double round_step(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1, 2, 5}) {
    if (factor * power >= value * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<double> round_numbers(double from, double to, double least_step) {
  std::vector<double> numbers;
  const double step = round_step(least_step);
  if (!(step > 0) || !std::isfinite(step)) return numbers;
  const double first = std::ceil(from / step - 1e-6), last = std::floor(to / step + 1e-6);
  if (!(std::abs(first) < 1e15 && std::abs(last) < 1e15)) return numbers;
  for (double i = first; i <= last; ++i) numbers.push_back(i * step + 0.0);  // avoids -0
  return numbers;
}

bool is_far_apart(const std::vector<double>& values) {
  const auto range = range_of(values);
  return range && range->first > 0 && range->second > kFarApart * range->first;
}

Axis linear_axis(const std::vector<double>& values, bool from_zero, double apart) {
  const auto range = range_of(values);
  if (!range) return make_linear(0, 1, apart);
  const auto [least, most] = *range;
  const double margin = 0.04 * (most - least);
  const bool near_zero = least >= 0 && least < 0.25 * most;
  if (least >= 0 && (from_zero || near_zero)) return make_linear(0, most * 1.04, apart);
  return make_linear(least - margin, most + margin, apart);
}

Axis time_axis(const std::vector<double>& values, double apart) {
  if (!is_far_apart(values)) return linear_axis(values, true, std::max(apart, 1.0 / 6));
  const auto [least, most] = *range_of(values);
  return make_logarithmic(least / 1.15, most * 1.15, apart);
}

}  // namespace strata::drawing
