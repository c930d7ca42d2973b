#include "compare/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>

#include "base/numbers/statistics.h"
#include "base/numbers/students_t.h"

namespace strata::compare {
namespace {

constexpr double kConfidence = 0.95;
constexpr size_t kLeastValues = 3;
constexpr size_t kMostValuesExactly = 30;  // values of both samples

std::span<const double> kept(const Sample& sample, const std::vector<double>& sorted) {
  const size_t left_out = sample.smallest_left_out + sample.largest_left_out;
  if (left_out >= sorted.size()) return {};
  return std::span(sorted).subspan(sample.smallest_left_out, sorted.size() - left_out);
}

// The logarithm of a center, with its variance.
struct LogCenter {
  double value = 0, variance = 0, degrees_of_freedom = 0;
};

std::optional<LogCenter> log_center(const Sample& sample) {
  std::vector<double> sorted = sample.values;
  std::ranges::sort(sorted);
  const std::span<const double> inner = kept(sample, sorted);
  if (sorted.size() < kLeastValues || inner.empty()) return std::nullopt;
  const double center = *sample.center(), least = inner.front(), most = inner.back();
  if (!(center > 0) || !std::isfinite(center)) return std::nullopt;
  for (double& value : sorted) value = std::clamp(value, least, most);
  const double winsorized_mean = mean(sorted);
  double squares = 0;
  for (const double value : sorted) squares += std::pow(value - winsorized_mean, 2);
  const auto count = static_cast<double>(inner.size());
  if (count < 2) return std::nullopt;
  return LogCenter{.value = std::log(center),
                   .variance = squares / (count * (count - 1)) / (center * center),
                   .degrees_of_freedom = count - 1};
}

// Returns, for each value of U from 0 to n m, the number of orders of n and m values without ties
// that have it. The recursion takes away the largest value, of either sample (Mann & Whitney 1947).
std::vector<double> orders_by_u(size_t n, size_t m) {
  std::vector<std::vector<double>> shorter(m + 1, {1.0});  // for i values of a, by the count of b
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
  return std::min(1.0, 2 * tail / sum(orders));
}

// `ties` is the sum of t^3 - t over groups of t equal values.
double normal_p(double u, double n, double m, double ties) {
  const double all = n + m;
  const double variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
  if (!(variance > 0)) return 1;
  const double away = std::max(0.0, std::fabs(u - n * m / 2) - 0.5);
  return std::erfc(away / std::sqrt(2 * variance));
}

}  // namespace

std::optional<double> Sample::center() const {
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  const std::span<const double> inner = kept(*this, sorted);
  if (inner.empty()) return std::nullopt;
  return mean(inner);
}

std::optional<RatioTest> test_ratio(const Sample& a, const Sample& b) {
  const std::optional<LogCenter> from = log_center(a), to = log_center(b);
  if (!from || !to) return std::nullopt;
  const double difference = to->value - from->value;
  const double variance = from->variance + to->variance;
  if (!std::isfinite(variance)) return std::nullopt;
  if (variance == 0) {
    const double ratio = std::expm1(difference);
    return RatioTest{.interval = {ratio, ratio}, .p = difference == 0 ? 1.0 : 0.0};
  }
  const auto share = [&](const LogCenter& of) {
    return std::pow(of.variance / variance, 2) / of.degrees_of_freedom;
  };
  const double freedom = 1 / (share(*from) + share(*to));
  const double error = std::sqrt(variance);
  const double half = students_t_quantile((1 + kConfidence) / 2, freedom) * error;
  return RatioTest{.interval = {std::expm1(difference - half), std::expm1(difference + half)},
                   .p = 2 * students_t_upper_tail(std::fabs(difference) / error, freedom)};
}

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return p[i]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    largest = std::max(largest, static_cast<double>(p.size() - rank) * p[order[rank]]);
    adjusted[order[rank]] = std::min(1.0, largest);
  }
  return adjusted;
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
