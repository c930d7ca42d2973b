#include "search/space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/numbers/random.h"

namespace strata::search {
namespace {

// Returns a number in [0, 1).
double uniform(uint64_t seed, int trial, const std::string& key) {
  uint64_t state = splitmix64(seed) ^ static_cast<uint64_t>(trial);
  for (const char c : key) state = splitmix64(state ^ static_cast<unsigned char>(c));
  return unit_interval(splitmix64(state));
}

// Formats with enough significant digits, at least four, to tell a thousand values of the range
// apart.
std::string shown(double value, const Dimension& dimension) {
  const double largest = std::max(std::abs(dimension.low), std::abs(dimension.high));
  const int more =
      static_cast<int>(std::ceil(std::log10(largest / (dimension.high - dimension.low))));
  const std::string text = fmt::format("{:.{}g}", value, std::clamp(3 + more, 4, 17));
  // std::strtod accepts the smallest numbers, below 2.2e-308; std::stod throws.
  const double rounded = std::strtod(text.c_str(), nullptr);
  if (rounded < dimension.low) return fmt::format("{}", dimension.low);
  return rounded > dimension.high ? fmt::format("{}", dimension.high) : text;
}

std::string value_at(const Dimension& dimension, double u) {
  const double low = dimension.low, high = dimension.high;
  const double logarithmic = low > 0 ? low * std::pow(high / low, u) : 0;
  switch (dimension.distribution) {
    case Distribution::kChoice:
      return dimension
          .choices[static_cast<size_t>(u * static_cast<double>(dimension.choices.size()))];
    case Distribution::kUniform:
      return shown(low + u * (high - low), dimension);
    case Distribution::kLogUniform:
      return shown(logarithmic, dimension);
    case Distribution::kOneMinusLogUniform:
      // Prints so many decimals that x keeps its four digits.
      return fmt::format("{:.{}f}", 1 - logarithmic,
                         std::max(3 - static_cast<int>(std::floor(std::log10(logarithmic))), 4));
    case Distribution::kInteger:
      return fmt::format("{:.0f}", std::min(std::floor(low + u * (high - low + 1)), high));
  }
  return "";
}

}  // namespace

const char* name_of(Distribution distribution) {
  switch (distribution) {
    case Distribution::kChoice:
      return "choice";
    case Distribution::kUniform:
      return "uniform";
    case Distribution::kLogUniform:
      return "log_uniform";
    case Distribution::kOneMinusLogUniform:
      return "one_minus_log_uniform";
    case Distribution::kInteger:
      return "integer";
  }
  return "";
}

Settings draw(std::span<const Dimension> space, uint64_t seed, int trial) {
  Settings settings;
  for (const Dimension& dimension : space) {
    const bool applies = std::ranges::all_of(dimension.when, [&](const Setting& condition) {
      return std::ranges::find(settings, condition) != settings.end();
    });
    if (!applies) continue;
    settings.push_back({dimension.key, value_at(dimension, uniform(seed, trial, dimension.key))});
  }
  return settings;
}

std::vector<std::string> overrides_of(const Settings& settings) {
  std::vector<std::string> overrides;
  for (const auto& [key, value] : settings) overrides.push_back(key + "=" + value);
  return overrides;
}

std::string to_text(const Settings& settings) {
  return fmt::format("{}", fmt::join(overrides_of(settings), " "));
}

nlohmann::ordered_json to_json(const Settings& settings) {
  auto object = nlohmann::ordered_json::object();
  for (const auto& [key, value] : settings) object[key] = value;
  return object;
}

}  // namespace strata::search
