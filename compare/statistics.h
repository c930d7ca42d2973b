// How sure a difference between two samples is.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/statistics.h"

namespace strata::compare {

// A number that stands for a sample, such as its mean; the sample may come in any order.
using Statistic = std::function<double(std::vector<double>)>;

struct Interval {
  double low = 0, high = 0;
};

// Measured values, and the statistic that stands for them.
struct Sample {
  std::vector<double> values;
  Statistic statistic = mean;

  std::optional<double> center() const;  // empty where there is no value
};

// The 95 % percentile interval of b's center / a's center - 1 over 10,000 bootstrap samples (Efron
// & Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13), always the same ones. Empty
// where a sample has fewer than three values, or a center is 0 or not finite. Of ten values it
// covers the true ratio in about 90 of 100 cases.
std::optional<Interval> ratio_interval(const Sample& a, const Sample& b);

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
