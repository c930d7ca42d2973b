#include "base/numbers/nonnegative_fit.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

namespace strata {
namespace {

using Coefficients = std::vector<double>;

// The observations with every column scaled to unit length, so that one bound detects columns that
// are linearly dependent.
struct ScaledSystem {
  std::vector<Observation> rows;
  Coefficients scale;  // scale of each term; 0 if no observation has the term

  size_t terms() const { return scale.size(); }
};

ScaledSystem scaled(std::span<const Observation> observations) {
  ScaledSystem system{{observations.begin(), observations.end()},
                      Coefficients(observations.empty() ? 0 : observations.front().parts.size())};
  for (const Observation& row : system.rows) {
    for (size_t i = 0; i < system.terms(); ++i) system.scale[i] += row.parts[i] * row.parts[i];
  }
  for (double& length : system.scale) length = std::sqrt(length);
  for (Observation& row : system.rows) {
    for (size_t i = 0; i < system.terms(); ++i) {
      if (system.scale[i] > 0) row.parts[i] /= system.scale[i];
    }
  }
  return system;
}

// Returns the least-squares coefficients with only the terms in `support` (one bit each) nonzero;
// nullopt if these are linearly dependent.
std::optional<Coefficients> solve(const ScaledSystem& system, unsigned support) {
  const size_t terms = system.terms();
  const auto has = [&](size_t term) { return (support >> term & 1) != 0; };
  // The last column is the right-hand side.
  std::vector<Coefficients> normal(terms, Coefficients(terms + 1));
  for (size_t i = 0; i < terms; ++i) {
    if (!has(i)) normal[i][i] = 1;
  }
  for (const auto& [parts, value] : system.rows) {
    for (size_t i = 0; i < terms; ++i) {
      if (!has(i)) continue;
      for (size_t j = 0; j < terms; ++j) {
        if (has(j)) normal[i][j] += parts[i] * parts[j];
      }
      normal[i][terms] += parts[i] * value;
    }
  }
  // Gauss-Jordan elimination; a positive definite matrix needs no pivot search.
  constexpr double kSingular = 1e-10;
  for (size_t pivot = 0; pivot < terms; ++pivot) {
    if (normal[pivot][pivot] < kSingular) return std::nullopt;
    for (size_t row = 0; row < terms; ++row) {
      if (row == pivot) continue;
      const double factor = normal[row][pivot] / normal[pivot][pivot];
      for (size_t j = pivot; j <= terms; ++j) normal[row][j] -= factor * normal[pivot][j];
    }
  }
  Coefficients result(terms);
  for (size_t i = 0; i < terms; ++i) result[i] = normal[i][terms] / normal[i][i];
  return result;
}

double squared_error(const ScaledSystem& system, const Coefficients& x) {
  double sum = 0;
  for (const auto& [parts, value] : system.rows) {
    double left = -value;
    for (size_t i = 0; i < x.size(); ++i) left += parts[i] * x[i];
    sum += left * left;
  }
  return sum;
}

unsigned all_terms(const ScaledSystem& system) { return (1u << system.terms()) - 1; }

// Returns sets of terms, smallest first, then those with earlier terms.
std::vector<unsigned> supports(const ScaledSystem& system) {
  std::vector<unsigned> all;
  for (unsigned support = 1; support <= all_terms(system); ++support) all.push_back(support);
  std::ranges::stable_sort(all, {}, [](unsigned support) { return std::popcount(support); });
  return all;
}

}  // namespace

// The constrained optimum is an unconstrained one over its nonzero coefficients, so the best over
// all sets of terms is the optimum.
std::optional<std::vector<double>> fit_nonnegative(std::span<const Observation> observations) {
  constexpr double kEqual = 1e-18;
  const ScaledSystem system = scaled(observations);
  std::optional<Coefficients> best;
  double least = std::numeric_limits<double>::max();
  for (const unsigned support : supports(system)) {
    std::optional<Coefficients> x = solve(system, support);
    if (!x || std::ranges::any_of(*x, [](double value) { return value < 0; })) continue;
    const double error = squared_error(system, *x);
    if (error < least - kEqual) {
      least = error;
      best = std::move(x);
    }
  }
  if (best) {
    for (size_t i = 0; i < system.terms(); ++i) {
      if (system.scale[i] > 0) (*best)[i] /= system.scale[i];
    }
  }
  return best;
}

bool tell_terms_apart(std::span<const Observation> observations) {
  const ScaledSystem system = scaled(observations);
  return system.terms() > 0 && solve(system, all_terms(system)).has_value();
}

}  // namespace strata
