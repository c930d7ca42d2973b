#include "compare/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "base/numbers/random.h"

namespace strata::compare {
namespace {

// scipy.stats.mannwhitneyu (1.x), two-sided, gives these statistics and p values.
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

// Comparing every pair would take forty thousand million steps.
TEST(MannWhitneyTest, CountsPairsOfVeryManyValues) {
  std::vector<double> a, b;
  for (int i = 0; i < 200'000; ++i) {
    a.push_back(2 * i);
    b.push_back(2 * i + 1);
  }
  a[0] = 1;  // ties with one of b, and is above none
  EXPECT_DOUBLE_EQ(mann_whitney(a, b)->u, 0.5 + 199'999.0 * 200'000 / 2);
}

TEST(MannWhitneyTest, FindsNoDifferenceInEqualOrMissingValues) {
  EXPECT_EQ(mann_whitney({2, 2, 2}, {2, 2})->p, 1);
  EXPECT_FALSE(mann_whitney({}, {1}));
}

TEST(RatioTestTest, IsEmptyForFewValuesAndForACenterOfZero) {
  EXPECT_FALSE(test_ratio({.values = {1, 2}}, {.values = {1, 2, 3}}));
  EXPECT_FALSE(test_ratio({.values = {0, 0, 0}}, {.values = {1, 2, 3}}));
  EXPECT_FALSE(test_ratio({.values = {1, 2, 3}, .smallest_left_out = 1, .largest_left_out = 1},
                          {.values = {1, 2, 3}}));
  EXPECT_TRUE(test_ratio({.values = {1, 2, 3}}, {.values = {1, 2, 3}}));
}

TEST(RatioTestTest, IntervalIsAPointIfNothingVaries) {
  const auto test = test_ratio({.values = {2, 2, 2}}, {.values = {3, 3, 3}});
  EXPECT_DOUBLE_EQ(test->interval.low, 0.5);
  EXPECT_DOUBLE_EQ(test->interval.high, 0.5);
  EXPECT_EQ(test->p, 0);
  EXPECT_EQ(test_ratio({.values = {2, 2, 2}}, {.values = {2, 2, 2}})->p, 1);
}

// Values of scipy.stats.ttest_ind with equal_var=False, without and with trim=0.2. Near 1e6,
// logarithms differ like the values, except for a factor.
TEST(RatioTestTest, MatchesWelchsAndYuensTests) {
  Sample a{.values = {1e6 + 1, 1e6 + 4, 1e6 + 2, 1e6 + 8, 1e6 + 5}};
  Sample b{.values = {1e6 + 6, 1e6 + 9, 1e6 + 7, 1e6 + 12, 1e6 + 8}};
  EXPECT_NEAR(test_ratio(a, b)->p, 0.025760196779998332, 1e-5);
  for (Sample* sample : {&a, &b}) sample->smallest_left_out = sample->largest_left_out = 1;
  EXPECT_DOUBLE_EQ(*a.center(), 1e6 + 11.0 / 3);
  EXPECT_NEAR(test_ratio(a, b)->p, 0.05152195681995576, 1e-5);
}

// Draws of two samples whose centers have the ratio 1.1.
class Coverage : public ::testing::Test {
 protected:
  double normal() {
    const double u = unit_interval(random_.next()), v = unit_interval(random_.next());
    return std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::numbers::pi * v);
  }
  double coverage(int values, size_t left_out, const std::function<double()>& draw) {
    constexpr int kTrials = 10'000;
    int covered = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      Sample a{.smallest_left_out = left_out, .largest_left_out = left_out}, b = a;
      for (int i = 0; i < values; ++i) {
        a.values.push_back(draw());
        b.values.push_back(1.1 * draw());
      }
      const Interval interval = test_ratio(a, b)->interval;
      covered += interval.low <= 0.1 && 0.1 <= interval.high;
    }
    return static_cast<double>(covered) / kTrials;
  }
  const std::vector<std::function<double()>> draws_ = {
      [this] { return 100 + 5 * normal(); }, [this] { return 100 * std::exp(0.3 * normal()); },
      [this] { return (unit_interval(random_.next()) < 0.5 ? 100 : 115) + 2 * normal(); }};
  SplitMix64 random_{7};
};

TEST_F(Coverage, IntervalsOfMeansCoverNinetyFivePercent) {
  for (const auto& draw : draws_) {
    for (const int values : {5, 9, 20}) {
      const double share = coverage(values, 0, draw);
      EXPECT_GE(share, 0.94) << values;
      EXPECT_LE(share, 0.96) << values;
    }
  }
}

TEST_F(Coverage, IntervalsOfOlympicMeansCoverNinetyFivePercent) {
  for (const auto& draw : draws_) {
    for (const int values : {9, 10, 20}) {
      const double share = coverage(values, 1, draw);
      EXPECT_GE(share, 0.94) << values;
      EXPECT_LE(share, 0.96) << values;
    }
    EXPECT_GE(coverage(5, 1, draw), 0.92);
    EXPECT_LE(coverage(5, 1, draw), 0.97);
  }
}

// Values of statsmodels.stats.multitest.multipletests(p, method="holm").
TEST(Holm, MultipliesByTheNumberOfRemainingTests) {
  const std::vector<double> adjusted = holm({0.01, 0.04, 0.03, 0.005, 0.5});
  const std::vector<double> expected = {0.04, 0.09, 0.09, 0.025, 0.5};
  ASSERT_EQ(adjusted.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-15) << i;
  EXPECT_TRUE(holm({}).empty());
}

}  // namespace
}  // namespace strata::compare
