#include "loadbalance/cost_fit.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/error.h"
#include "loadbalance/random.h"

namespace strata::loadbalance {
namespace {

// Returns `samples` samples of `length` tokens, with the time from the coefficients.
BatchTime batch_of(double length, double samples, const CostFit& truth) {
  BatchTime batch{length * samples, length * length * samples};
  batch.seconds = truth.seconds(batch);
  return batch;
}

std::vector<BatchTime> batches_of(const CostFit& truth) {
  std::vector<BatchTime> batches;
  for (const double length : {64, 128, 256, 384, 512}) {
    batches.push_back(batch_of(length, 4096 / length, truth));
    batches.push_back(batch_of(length, 2048 / length, truth));
  }
  return batches;
}

TEST(CostFit, FindsTheCoefficientsOfExactTimes) {
  for (const CostFit& truth :
       {CostFit{3e-3, {2e-5, 4e-9}}, CostFit{0, {2e-5, 4e-9}}, CostFit{3e-3, {2e-5, 0}},
        CostFit{0, {0, 4e-9}}, CostFit{0, {2e-5, 0}}}) {
    const CostFit fit = fit_cost(batches_of(truth));
    EXPECT_NEAR(fit.fixed, truth.fixed, 1e-9);
    EXPECT_NEAR(fit.cost.linear, truth.cost.linear, 1e-12);
    EXPECT_NEAR(fit.cost.quadratic, truth.cost.quadratic, 1e-15);
  }
}

// The Karush-Kuhn-Tucker conditions, which only the optimum of this convex problem meets: the
// error's derivative is zero along a positive coefficient and nonnegative along a zero one.
TEST(CostFit, IsTheConstrainedOptimumOfNoisyTimes) {
  Random random(3);
  int zeros = 0;
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<BatchTime> batches = batches_of({1e-3, {2e-5, 2e-10}});
    for (BatchTime& batch : batches) batch.seconds *= 0.9 + 0.2 * random.below(1000) / 1000.0;
    const CostFit fit = fit_cost(batches);
    std::array<double, 3> slope{}, size{};
    for (const BatchTime& batch : batches) {
      const double error = fit.seconds(batch) / batch.seconds - 1;
      const double terms[] = {1 / batch.seconds, batch.tokens / batch.seconds,
                              batch.squares / batch.seconds};
      for (size_t i = 0; i < 3; ++i) {
        slope[i] += error * terms[i];
        size[i] += terms[i];
      }
    }
    const double coefficients[] = {fit.fixed, fit.cost.linear, fit.cost.quadratic};
    for (size_t i = 0; i < 3; ++i) {
      ASSERT_GE(coefficients[i], 0) << trial;
      ASSERT_GE(slope[i] / size[i], -1e-9) << trial << " term " << i;
      if (coefficients[i] == 0) {
        ++zeros;
      } else {
        ASSERT_LE(slope[i] / size[i], 1e-9) << trial << " term " << i;
      }
    }
  }
  EXPECT_GT(zeros, 50);
  EXPECT_LT(zeros, 1000);
}

TEST(CostFit, BatchesThatAreAlikeAreRefused) {
  const CostFit truth{1e-3, {1e-5, 1e-9}};
  EXPECT_THROW(fit_cost({}), Error);
  // Linear and quadratic cost are proportional if all samples have one length.
  EXPECT_THROW(
      fit_cost(std::vector{batch_of(64, 1, truth), batch_of(64, 2, truth), batch_of(64, 4, truth)}),
      Error);
  EXPECT_THROW(fit_cost(std::vector{batch_of(64, 1, truth), batch_of(128, 2, truth)}), Error);
}

TEST(CostFit, TimesThatDoNotRiseWithTokensAreRefused) {
  EXPECT_THROW(fit_cost(batches_of({1e-3, {0, 0}})), Error);
}

}  // namespace
}  // namespace strata::loadbalance
