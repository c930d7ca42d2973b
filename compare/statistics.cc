#include "compare/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/random.h"

namespace strata::compare {
namespace {

constexpr int kResamples = 10'000;
constexpr double kConfidence = 0.95;
constexpr size_t kLeastValues = 3;
constexpr size_t kMostValuesExactly = 30;  // of both samples together

// A quantile of sorted values, interpolated.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

// In how many orders of n and m values without ties U has each of its values, 0 to n m: what
// remains once the largest value, of one sample or of the other, is taken away (Mann & Whitney
// 1947).
std::vector<double> orders_by_u(size_t n, size_t m) {
  std::vector<std::vector<double>> shorter(m + 1, {1.0});  // of i values of a: by the count of b
  for (size_t i = 1; i <= n; ++i) {
    std::vector<std::vector<double>> counts(m + 1);
    counts[0] = {1.0};
    for (size_t j = 1; j <= m; ++j) {
      counts[j].assign(i * j + 1, 0.0);
      for (size_t u = 0; u < shorter[j].size(); ++u) counts[j][u + j] += shorter[j][u];
      for (size_t u = 0; u < counts[j - 1].size(); ++u) counts[j][u] += counts[j - 1][u];
    }
    shorter = std::move(counts);
  }
  return shorter[m];
}

double exact_p(double u, size_t n, size_t m) {
  const std::vector<double> orders = orders_by_u(n, m);
  const auto least = static_cast<size_t>(std::min(u, static_cast<double>(n * m) - u));
  const double tail =
      std::accumulate(orders.begin(), orders.begin() + static_cast<ptrdiff_t>(least) + 1, 0.0);
  return std::min(1.0, 2 * tail / std::accumulate(orders.begin(), orders.end(), 0.0));
}

// `ties`: the sum of t^3 - t over groups of t equal values.
double normal_p(double u, double n, double m, double ties) {
  const double all = n + m;
  const double variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
  if (!(variance > 0)) return 1;
  const double away = std::max(0.0, std::fabs(u - n * m / 2) - 0.5);
  return std::erfc(away / std::sqrt(2 * variance));
}

}  // namespace

std::optional<double> Sample::center() const {
  if (values.empty()) return std::nullopt;
  return statistic(values);
}

std::optional<Interval> ratio_interval(const Sample& a, const Sample& b) {
  if (std::min(a.values.size(), b.values.size()) < kLeastValues) return std::nullopt;
  SplitMix64 random(0);
  const auto resample = [&](const Sample& sample) {
    std::vector<double> drawn(sample.values.size());
    for (double& value : drawn) value = sample.values[random.next() % drawn.size()];
    return sample.statistic(std::move(drawn));
  };
  std::vector<double> ratios(kResamples);
  for (double& ratio : ratios) {
    const double center = resample(a);
    ratio = resample(b) / center - 1;
    if (!std::isfinite(ratio)) return std::nullopt;
  }
  std::ranges::sort(ratios);
  return Interval{quantile(ratios, (1 - kConfidence) / 2), quantile(ratios, (1 + kConfidence) / 2)};
}

std::optional<MannWhitney> mann_whitney(const std::vector<double>& a,
                                        const std::vector<double>& b) {
  if (a.empty() || b.empty()) return std::nullopt;
  MannWhitney result;
  std::vector<double> sorted = b;
  std::ranges::sort(sorted);
  for (const double of_a : a) {
    const auto [first_equal, first_larger] = std::ranges::equal_range(sorted, of_a);
    result.u += static_cast<double>(first_equal - sorted.begin()) +
                0.5 * static_cast<double>(first_larger - first_equal);
  }
  std::map<double, double> counts;
  for (const double value : a) ++counts[value];
  for (const double value : b) ++counts[value];
  double ties = 0;
  for (const auto& [value, count] : counts) ties += count * count * count - count;
  result.exact = ties == 0 && a.size() + b.size() <= kMostValuesExactly;
  result.p = result.exact ? exact_p(result.u, a.size(), b.size())
                          : normal_p(result.u, static_cast<double>(a.size()),
                                     static_cast<double>(b.size()), ties);
  return result;
}

}  // namespace strata::compare
