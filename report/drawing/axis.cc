#include "report/drawing/axis.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "report/drawing/text.h"

namespace strata::report {
namespace {

constexpr double kFarApart = 20;
constexpr int kTicks = 6;

// The least of 1, 2 and 5 times a power of ten that is at least `width`.
double round_step(double width) {
  const double power = std::pow(10, std::floor(std::log10(width)));
  for (const double factor : {1, 2, 5}) {
    if (factor * power >= width * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

Axis make_linear(double low, double high) {
  // Between values that are closer to each other than numbers of their size there are no ticks.
  constexpr double kDigits = 1e-12, kLeast = 1e-290;
  const double size = std::max(std::abs(low), std::abs(high));
  if (!(high - low > std::max(kLeast, kDigits * size))) {
    high = low + (size < kLeast ? 1 : size * 0.1);
  }
  const double step = round_step((high - low) / kTicks);
  Axis axis;
  axis.place = [low, high](double value) { return (value - low) / (high - low); };
  const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
  for (double i = first; i <= last; ++i) axis.ticks.push_back(i * step);
  axis.label = [](double value) { return short_number(std::abs(value) < 1e-12 ? 0 : value); };
  return axis;
}

Axis make_logarithmic(double low, double high) {
  const double from = std::log10(low), width = std::log10(high) - from;
  Axis axis;
  axis.place = [from, width](double value) { return (std::log10(value) - from) / width; };
  const bool crowded = width > 3.5;
  for (double power = std::floor(from); power <= std::log10(high); ++power) {
    for (const double factor : {1, 2, 5}) {
      const double tick = factor * std::pow(10, power);
      if (tick < low * (1 - 1e-9) || tick > high * (1 + 1e-9)) continue;
      if (!crowded || factor == 1) axis.ticks.push_back(tick);
    }
  }
  axis.label = [](double value) { return short_number(value); };
  return axis;
}

}  // namespace

namespace {

// Of the values that can be shown; none where there are none.
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

bool is_far_apart(const std::vector<double>& values) {
  const auto range = range_of(values);
  return range && range->first > 0 && range->second > kFarApart * range->first;
}

Axis linear_axis(const std::vector<double>& values, bool from_zero) {
  const auto range = range_of(values);
  if (!range) return make_linear(0, 1);
  const auto [least, most] = *range;
  const double margin = 0.04 * (most - least);
  const bool near_zero = least >= 0 && least < 0.25 * most;
  if (least >= 0 && (from_zero || near_zero)) return make_linear(0, most * 1.04);
  return make_linear(least - margin, most + margin);
}

Axis time_axis(const std::vector<double>& values) {
  if (!is_far_apart(values)) return linear_axis(values, true);
  const auto [least, most] = *range_of(values);
  return make_logarithmic(least / 1.15, most * 1.15);
}

}  // namespace strata::report
