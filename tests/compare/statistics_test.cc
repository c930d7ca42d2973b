#include "compare/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/random.h"

namespace strata::compare {
namespace {

// Statistics and p values are those of scipy.stats.mannwhitneyu (1.x), two-sided.
TEST(MannWhitneyTest, CountsAllOrdersOfFewValuesWithoutTies) {
  const auto test =
      mann_whitney({17.9, 18.4, 18.1, 17.7, 18.9, 18.2, 18.6}, {18.5, 19.1, 18.8, 18.3, 19.4});
  EXPECT_TRUE(test->exact);
  EXPECT_DOUBLE_EQ(test->u, 6);
  EXPECT_NEAR(test->p, 0.07323232323232323, 1e-15);
  EXPECT_NEAR(mann_whitney({1, 2, 3}, {4, 5, 6})->p, 0.1, 1e-15);
  EXPECT_NEAR(mann_whitney({4, 5, 6}, {1, 2, 3})->p, 0.1, 1e-15);
}

TEST(MannWhitneyTest, TakesTheNormalDistributionWithTies) {
  const auto test = mann_whitney({1, 2, 2, 3, 5, 5, 5, 8}, {2, 4, 5, 6, 6, 9, 9});
  EXPECT_FALSE(test->exact);
  EXPECT_DOUBLE_EQ(test->u, 14.5);
  EXPECT_NEAR(test->p, 0.1269048744424945, 1e-14);
}

TEST(MannWhitneyTest, TakesTheNormalDistributionOfManyValues) {
  std::vector<double> a, b;
  for (int i = 0; i < 20; ++i) {
    a.push_back(i * 7 % 40 + 0.1 * i);
    b.push_back(i * 11 % 40 + 3.03 + 0.1 * i);
  }
  const auto test = mann_whitney(a, b);
  EXPECT_FALSE(test->exact);
  EXPECT_DOUBLE_EQ(test->u, 173);
  EXPECT_NEAR(test->p, 0.4734806277722057, 1e-14);
}

// Pair by pair that would be forty thousand million.
TEST(MannWhitneyTest, CountsPairsOfVeryManyValues) {
  std::vector<double> a, b;
  for (int i = 0; i < 200'000; ++i) {
    a.push_back(2 * i);
    b.push_back(2 * i + 1);
  }
  a[0] = 1;  // ties with one of b, and is above none
  EXPECT_DOUBLE_EQ(mann_whitney(a, b)->u, 0.5 + 199'999.0 * 200'000 / 2);
}

TEST(MannWhitneyTest, SaysNothingOfEqualOrMissingValues) {
  EXPECT_EQ(mann_whitney({2, 2, 2}, {2, 2})->p, 1);
  EXPECT_FALSE(mann_whitney({}, {1}));
}

TEST(RatioInterval, IsEmptyForFewValuesAndForACenterOfZero) {
  EXPECT_FALSE(ratio_interval({.values = {1, 2}}, {.values = {1, 2, 3}}));
  EXPECT_FALSE(ratio_interval({.values = {0, 0, 0}}, {.values = {1, 2, 3}}));
  EXPECT_TRUE(ratio_interval({.values = {1, 2, 3}}, {.values = {1, 2, 3}}));
}

TEST(RatioInterval, IsThePointWhereNothingVaries) {
  const auto interval = ratio_interval({.values = {2, 2, 2}}, {.values = {3, 3, 3}});
  EXPECT_DOUBLE_EQ(interval->low, 0.5);
  EXPECT_DOUBLE_EQ(interval->high, 0.5);
}

// Of two samples of ten of normal distributions: as often as the header says, and the least and
// the most that 95 % allow with 200 trials.
TEST(RatioInterval, CoversTheTrueRatioInNineOfTenCases) {
  SplitMix64 random(7);
  const auto normal = [&] {
    const double u = unit_interval(random.next()), v = unit_interval(random.next());
    return std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::numbers::pi * v);
  };
  int covered = 0;
  constexpr int kTrials = 200;
  for (int trial = 0; trial < kTrials; ++trial) {
    Sample a, b;
    for (int i = 0; i < 10; ++i) {
      a.values.push_back(100 + 5 * normal());
      b.values.push_back(110 + 5 * normal());
    }
    const auto interval = ratio_interval(a, b);
    covered += interval->low <= 0.1 && 0.1 <= interval->high;
  }
  EXPECT_GE(covered, 0.86 * kTrials);
  EXPECT_LE(covered, 0.97 * kTrials);
}

TEST(RatioInterval, UsesTheStatisticOfEachSample) {
  const Statistic first = [](std::vector<double>) { return 4.0; };
  const auto interval =
      ratio_interval({.values = {1, 2, 3}, .statistic = first}, {.values = {5, 5, 5}});
  EXPECT_DOUBLE_EQ(interval->low, 0.25);
}

}  // namespace
}  // namespace strata::compare
