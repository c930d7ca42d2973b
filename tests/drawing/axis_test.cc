#include "drawing/axis.h"

#include <gtest/gtest.h>

#include <cmath>

namespace strata::drawing {
namespace {

void expect_within(const Axis& axis, const std::vector<double>& values) {
  for (const double value : values) {
    EXPECT_GE(axis.place(value), 0) << value;
    EXPECT_LE(axis.place(value), 1) << value;
  }
  for (size_t i = 0; i < axis.ticks.size(); ++i) {
    EXPECT_GE(axis.place(axis.ticks[i]), -1e-9);
    EXPECT_LE(axis.place(axis.ticks[i]), 1 + 1e-9);
    if (i > 0) {
      EXPECT_GT(axis.ticks[i], axis.ticks[i - 1]);
    }
  }
}

TEST(LinearAxis, HoldsItsValuesWithRoundTicks) {
  const std::vector<double> values = {3.17, 9.02, 4.4};
  const Axis axis = linear_axis(values, false);
  expect_within(axis, values);
  EXPECT_EQ(axis.ticks, (std::vector<double>{4, 6, 8}));
  EXPECT_EQ(axis.label(4), "4");
}

TEST(LinearAxis, MayBeginAtZero) {
  EXPECT_EQ(linear_axis({500, 1000}, true).place(0), 0);
  EXPECT_EQ(linear_axis({1, 1000}, false).place(0), 0) << "zero is near";
  EXPECT_GT(linear_axis({-5, 5}, true).place(0), 0.4) << "values below it are shown";
}

TEST(LinearAxis, ASingleValueAndNoValuesHaveAnAxis) {
  for (const std::vector<double>& values : {std::vector<double>{}, {0.0}, {7.0}, {7.0, 7.0}}) {
    const Axis axis = linear_axis(values, false);
    expect_within(axis, values);
    EXPECT_GE(axis.ticks.size(), 2u);
  }
}

// Such ticks would be closer together than neighbouring numbers, and a loop over them would not
// end.
TEST(LinearAxis, NearlyEqualValuesCountAsOne) {
  const double above = std::nextafter(1e17, 2e17), least = 5e-324;
  for (const std::vector<double>& values :
       {std::vector<double>{1e17, above}, {-above, -1e17}, {-least, least}, {0, least}}) {
    const Axis axis = linear_axis(values, false);
    expect_within(axis, values);
    EXPECT_LE(axis.ticks.size(), 20u);
  }
}

TEST(TimeAxis, IsLogarithmicIfValuesAreFarApart) {
  const std::vector<double> values = {0.18, 255};
  const Axis axis = time_axis(values);
  expect_within(axis, values);
  EXPECT_NEAR(axis.place(10) - axis.place(1), axis.place(100) - axis.place(10), 1e-12);
  EXPECT_NEAR(axis.ticks.front(), 0.2, 1e-12);
}

TEST(TimeAxis, IsOtherwiseLinearFromZero) {
  const Axis axis = time_axis({10, 100});
  EXPECT_EQ(axis.place(0), 0);
  EXPECT_NEAR(axis.place(100) - axis.place(50), axis.place(50), 1e-12);
  EXPECT_FALSE(is_far_apart({0, 100})) << "there is no logarithm of zero";
}

TEST(TimeAxis, EveryOneOfManyPowersHasATick) {
  for (const double tick : time_axis({1e-3, 1e4}).ticks) {
    EXPECT_NEAR(std::log10(tick), std::round(std::log10(tick)), 1e-9);
  }
}

}  // namespace
}  // namespace strata::drawing
