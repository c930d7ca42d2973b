#include "loadbalance/cost_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"

namespace strata::loadbalance {
namespace {

constexpr size_t kTerms = 3;  // fixed, linear, quadratic
using Terms = std::array<double, kTerms>;

// Every coefficient's part of a batch's relative time, in units of `scale`.
Terms terms_of(const BatchTime& batch, const Terms& scale) {
  return {1 / batch.seconds / scale[0], batch.tokens / batch.seconds / scale[1],
          batch.squares / batch.seconds / scale[2]};
}

// The least-squares coefficients where only the terms in `support` (a bit each) may differ from
// zero; nothing where these cannot be told apart.
std::optional<Terms> solve(std::span<const BatchTime> times, const Terms& scale, unsigned support) {
  std::array<std::array<double, kTerms + 1>, kTerms> normal{};  // with the right-hand side
  for (size_t i = 0; i < kTerms; ++i) {
    if ((support >> i & 1) == 0) normal[i][i] = 1;
  }
  for (const BatchTime& batch : times) {
    const Terms terms = terms_of(batch, scale);
    for (size_t i = 0; i < kTerms; ++i) {
      if ((support >> i & 1) == 0) continue;
      for (size_t j = 0; j < kTerms; ++j) {
        if ((support >> j & 1) != 0) normal[i][j] += terms[i] * terms[j];
      }
      normal[i][kTerms] += terms[i];
    }
  }
  // Gauss and Jordan; pivots of a positive definite matrix need no search.
  constexpr double kSingular = 1e-10;
  for (size_t pivot = 0; pivot < kTerms; ++pivot) {
    if (normal[pivot][pivot] < kSingular) return std::nullopt;
    for (size_t row = 0; row < kTerms; ++row) {
      if (row == pivot) continue;
      const double factor = normal[row][pivot] / normal[pivot][pivot];
      for (size_t j = pivot; j <= kTerms; ++j) normal[row][j] -= factor * normal[pivot][j];
    }
  }
  Terms result;
  for (size_t i = 0; i < kTerms; ++i) result[i] = normal[i][kTerms] / normal[i][i];
  return result;
}

double squared_error(std::span<const BatchTime> times, const Terms& scale, const Terms& x) {
  double sum = 0;
  for (const BatchTime& batch : times) {
    const Terms terms = terms_of(batch, scale);
    sum += std::pow(terms[0] * x[0] + terms[1] * x[1] + terms[2] * x[2] - 1, 2);
  }
  return sum;
}

}  // namespace

// The constrained optimum is the unconstrained one over the coefficients that are not zero, so the
// best of all choices of these is it.
CostFit fit_cost(std::span<const BatchTime> times) {
  Terms scale{};  // makes every column of the system one long
  for (const BatchTime& batch : times) {
    const Terms terms = terms_of(batch, {1, 1, 1});
    for (size_t i = 0; i < kTerms; ++i) scale[i] += terms[i] * terms[i];
  }
  for (double& length : scale) length = std::sqrt(length);
  constexpr unsigned kAll = (1u << kTerms) - 1;
  if (times.empty() || !solve(times, scale, kAll)) {
    fail("{} measured batches do not tell apart what a batch, a token and a token's square cost",
         times.size());
  }
  Terms best{};
  double least = std::numeric_limits<double>::max();
  for (unsigned support = 1; support <= kAll; ++support) {
    const std::optional<Terms> x = solve(times, scale, support);
    if (!x || std::any_of(x->begin(), x->end(), [](double value) { return value < 0; })) continue;
    const double error = squared_error(times, scale, *x);
    if (error < least) {
      least = error;
      best = *x;
    }
  }
  if (best[1] + best[2] == 0) {
    fail(
        "the times of {} measured batches do not rise with their tokens: measure more rounds, or "
        "while the machine does nothing else",
        times.size());
  }
  return {best[0] / scale[0], {best[1] / scale[1], best[2] / scale[2]}};
}

}  // namespace strata::loadbalance
