// How sure a difference between two samples is.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace strata::compare {

// Measured values. Their center is the mean, or, as MLPerf scores runs, the mean without the
// smallest and the largest values.
struct Sample {
  std::vector<double> values;  // in any order
  size_t smallest_left_out = 0, largest_left_out = 0;

  std::optional<double> center() const;  // empty if no value is left
};

struct Interval {
  double low = 0, high = 0;
};

// A test of whether two centers differ.
struct RatioTest {
  Interval interval;  // of b's center / a's center - 1, with 95 % confidence
  double p = 1;       // two-sided, of a ratio as far from 1 if the centers do not differ
};

// Student's t on the logarithm of the ratio: variances by the delta method, of trimmed means from
// winsorized values (Yuen, Biometrika 61, 1974), degrees of freedom as Welch has them (Biometrika
// 34, 1947). The interval of two samples of 5 to 20 values holds the true ratio in 94 to 96 of 100
// cases, of 5 values without the smallest and the largest in 92 to 97. Empty if a sample has fewer
// than three values or its center is not positive and finite.
std::optional<RatioTest> test_ratio(const Sample& a, const Sample& b);

// p values adjusted for as many tests (Holm, Scandinavian Journal of Statistics 6, 1979): of all
// that fall below 0.05 when nothing differs there are none in 95 of 100 cases.
std::vector<double> holm(const std::vector<double>& p);

// The Mann-Whitney U test, two-sided: whether values of one sample tend to be larger than those of
// the other.
struct MannWhitney {
  double u = 0;        // pairs in which the value of a is larger; ties count half
  double p = 1;        // of a U as far from its mean, if both came from one distribution
  bool exact = false;  // by counting all orders; else by the normal distribution, for ties or many
                       // values, corrected for both
};
// Empty where a sample has no value.
std::optional<MannWhitney> mann_whitney(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace strata::compare
