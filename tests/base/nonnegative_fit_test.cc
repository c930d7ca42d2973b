#include "base/numbers/nonnegative_fit.h"

#include <gtest/gtest.h>

namespace strata {
namespace {

// Returns an observation of `value`, to which term i contributes factors[i] times its coefficient.
Observation parts(std::vector<double> factors, double value) {
  for (double& factor : factors) factor /= value;
  return {factors};
}

TEST(NonnegativeFit, FindsTheCoefficientsOfExactValues) {
  // The exact solution is 3 x + 5 y.
  const std::vector<Observation> exact = {parts({1, 1}, 8), parts({2, 1}, 11), parts({1, 4}, 23)};
  const auto x = fit_nonnegative(exact);
  ASSERT_TRUE(x.has_value());
  EXPECT_NEAR((*x)[0], 3, 1e-12);
  EXPECT_NEAR((*x)[1], 5, 1e-12);
}

TEST(NonnegativeFit, ATermThatWouldBeNegativeIsLeftOut) {
  // The line through (1, 1) and (2, 3) has -1 at 0. Without a constant, the relative errors (x - 1)
  // and (2 x / 3 - 1) have the least squares at x = (1 + 2/3) / (1 + 4/9) = 15/13.
  const auto x = fit_nonnegative(std::vector{parts({1, 1}, 1), parts({2, 1}, 3)});
  ASSERT_TRUE(x.has_value());
  EXPECT_NEAR((*x)[0], 15.0 / 13, 1e-12);
  EXPECT_EQ((*x)[1], 0);
}

TEST(NonnegativeFit, TheFirstOfTwoIndistinguishableTermsIsUsed) {
  const std::vector<Observation> same = {parts({1, 1}, 2), parts({1, 1}, 2)};
  EXPECT_FALSE(tell_terms_apart(same));
  const auto x = fit_nonnegative(same);
  ASSERT_TRUE(x.has_value());
  EXPECT_NEAR((*x)[0], 2, 1e-12);
  EXPECT_EQ((*x)[1], 0);
}

TEST(NonnegativeFit, ObservationsMayHaveAnyValue) {
  const auto x = fit_nonnegative(std::vector<Observation>{{{1, 0}, 0}, {{1, 2}, 6}});
  ASSERT_TRUE(x.has_value());
  EXPECT_NEAR((*x)[0], 0, 1e-12);
  EXPECT_NEAR((*x)[1], 3, 1e-12);
}

TEST(NonnegativeFit, EmptyOrZeroObservationsGiveNoFit) {
  EXPECT_FALSE(fit_nonnegative({}).has_value());
  EXPECT_FALSE(tell_terms_apart({}));
  EXPECT_FALSE(fit_nonnegative(std::vector<Observation>{{{0, 0}}}).has_value());
}

}  // namespace
}  // namespace strata
