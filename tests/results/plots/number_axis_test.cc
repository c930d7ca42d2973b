#include "results/plots/number_axis.h"

#include <gtest/gtest.h>

namespace strata::results {
namespace {

TEST(NumberAxis, BeginsAtZeroUnlessNumbersAreCloseOrFarApart) {
  EXPECT_EQ(NumberAxis::of(10, 30).from(), 0);
  EXPECT_GT(NumberAxis::of(10, 30).to(), 30);
  EXPECT_FALSE(NumberAxis::of(10, 200).is_logarithmic());
  EXPECT_TRUE(NumberAxis::of(10, 201).is_logarithmic());
  EXPECT_FALSE(NumberAxis::of(0, 201).is_logarithmic());
  const NumberAxis close = NumberAxis::of(19, 21);
  EXPECT_GT(close.from(), 18);
  EXPECT_LT(close.from(), 19);
  EXPECT_GT(close.to(), 21);
  const NumberAxis one = NumberAxis::of(5, 5);
  EXPECT_LT(one.from(), 5);
  EXPECT_GT(one.to(), 5);
  EXPECT_LT(NumberAxis::of(0, 0).from(), NumberAxis::of(0, 0).to());
  EXPECT_LT(NumberAxis::of(-3, -2).from(), -3);
}

TEST(NumberAxis, PlacesByRatioWhereItIsLogarithmic) {
  const NumberAxis axis = NumberAxis::of(1, 100);
  EXPECT_EQ(axis.place(axis.from()), 0);
  EXPECT_EQ(axis.place(axis.to()), 1);
  EXPECT_NEAR(axis.place(10), 0.5, 1e-12);
  EXPECT_NEAR(NumberAxis::from_zero(100).place(52), 0.5, 1e-12);
}

TEST(NumberAxis, TicksAreRound) {
  EXPECT_EQ(NumberAxis::of(1, 100).ticks(), std::vector<double>({1, 2, 5, 10, 20, 50, 100}));
  EXPECT_EQ(NumberAxis::of(1, 100).ticks(0.2), std::vector<double>({1, 10, 100}));
  EXPECT_EQ(NumberAxis::of(1, 1e12).ticks(0.15),
            std::vector<double>({1, 100, 1e4, 1e6, 1e8, 1e10, 1e12}));
  EXPECT_EQ(NumberAxis::from_zero(10).ticks(0.2), std::vector<double>({0, 5, 10}));
  EXPECT_EQ(NumberAxis::from_zero(10).ticks(0.15), std::vector<double>({0, 2, 4, 6, 8, 10}));
}

TEST(NumberAxis, NumbersAreShort) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.005), "0.005");
  EXPECT_EQ(short_number(20), "20");
  EXPECT_EQ(short_number(50000), "50000");
  EXPECT_EQ(short_number(200000), "200 k");
  EXPECT_EQ(short_number(2.5e6), "2.5 M");
}

}  // namespace
}  // namespace strata::results
