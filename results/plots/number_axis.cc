#include "results/plots/number_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace strata::results {
namespace {

// Most over least from which on an axis is logarithmic, and from which on it begins at 0.
constexpr double kFarApart = 20, kApart = 2;
// Of an axis, at an end where points would else stand on the frame.
constexpr double kSpace = 0.04;

}  // namespace

double round_step(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (times * power >= value * (1 - 1e-9)) return times * power;
  }
  return 10 * power;
}

std::vector<double> round_numbers(double from, double to, double least_step) {
  std::vector<double> numbers;
  const double step = round_step(least_step);
  if (!(step > 0) || !std::isfinite(step)) return numbers;
  const double first = std::ceil(from / step - 1e-6), last = std::floor(to / step + 1e-6);
  // Numbers that are all but equal have no round ones between them.
  if (!(std::abs(first) < 1e12 && std::abs(last) < 1e12)) return numbers;
  for (double i = first; i <= last; ++i) numbers.push_back(i * step + 0.0);  // no -0
  return numbers;
}

std::string short_number(double number) {
  const double size = std::abs(number);
  if (size >= 1e6 && size < 1e9) return fmt::format("{:.4g} M", number / 1e6);
  if (size >= 1e5 && size < 1e6) return fmt::format("{:.4g} k", number / 1e3);
  return fmt::format("{:.6g}", number);
}

NumberAxis NumberAxis::of(double least, double most) {
  if (least > 0 && most > kFarApart * least) {
    const double space = std::pow(most / least, kSpace);
    return {least / space, most * space, true};
  }
  if (least >= 0 && most >= kApart * least) return from_zero(most);
  const double space = std::max((most - least) * kSpace, std::abs(most) * 1e-3);
  return {least - space, most + space, false};
}

NumberAxis NumberAxis::from_zero(double most) {
  return {0, most > 0 ? most * (1 + kSpace) : 1, false};
}

double NumberAxis::place(double number) const {
  if (logarithmic_) return std::log(number / from_) / std::log(to_ / from_);
  return (number - from_) / (to_ - from_);
}

std::vector<double> NumberAxis::ticks(double apart) const {
  if (!logarithmic_) return round_numbers(from_, to_, apart * (to_ - from_));
  const double decades = std::log10(to_ / from_);
  // From 2 to 5 are 0.4 decades, from 1 to 2 and from 5 to 10 are 0.3.
  const bool between = std::log10(2) >= apart * decades;
  const double step = std::max(1.0, std::ceil(apart * decades));
  std::vector<double> numbers;
  for (double power = std::floor(std::log10(from_)); power <= std::log10(to_); ++power) {
    if (std::fmod(power, step) != 0) continue;
    for (const double times : {1.0, 2.0, 5.0}) {
      const double number = times * std::pow(10, power);
      if ((times == 1 || between) && number >= from_ && number <= to_) numbers.push_back(number);
    }
  }
  return numbers;
}

}  // namespace strata::results
