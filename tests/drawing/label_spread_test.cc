#include "drawing/label_spread.h"

#include <cmath>
#include <random>

#include "tests/support/error_of.h"
#include "tests/support/matchers.h"

namespace strata::drawing {
namespace {

using Places = std::vector<double>;
using testing_support::error_of;

TEST(LabelSpread, LabelsWithEnoughRoomDoNotMove) {
  EXPECT_EQ(spread_labels({1, 3, 9}, 2, 0, 10), Places({1, 3, 9}));
  EXPECT_EQ(spread_labels({}, 2, 0, 10), Places());
  EXPECT_EQ(spread_labels({4}, 2, 4, 4), Places({4}));
}

TEST(LabelSpread, CollidingLabelsMoveEquallyFar) {
  EXPECT_EQ(spread_labels({5, 5}, 2, 0, 10), Places({4, 6}));
  EXPECT_EQ(spread_labels({5, 5, 5, 9}, 2, 0, 10), Places({3, 5, 7, 9}));
  EXPECT_EQ(spread_labels({5, 5, 6.5}, 2, 0, 10), Places({3.5, 5.5, 7.5}));
}

TEST(LabelSpread, KeepsTheOrderAndStaysWithinTheEnds) {
  EXPECT_EQ(spread_labels({6, 5, 4}, 3, 0, 10), Places({8, 5, 2}));
  EXPECT_EQ(spread_labels({-5, 0, 20}, 2, 0, 10), Places({0, 2, 10}));
  EXPECT_EQ(spread_labels({9, 9.5, 10}, 2, 0, 10), Places({6, 8, 10}));
}

TEST(LabelSpread, MoreThanFitAreAnError) {
  EXPECT_EQ(labels_that_fit(2, 0, 10), 6u);
  EXPECT_EQ(labels_that_fit(2.1, 0, 10), 5u);
  EXPECT_EQ(labels_that_fit(0.1, 0, 0.3), 4u) << "0.3 / 0.1 is a little less than 3";
  EXPECT_EQ(labels_that_fit(2, 0, -1), 0u);
  EXPECT_EQ(spread_labels(Places(6, 3), 2, 0, 10), Places({0, 2, 4, 6, 8, 10}));
  EXPECT_THAT(error_of([] { spread_labels(Places(7, 3), 2, 0, 10); }), HasSubstr("7 labels"));
}

// Moving a label, or neighbours together, never brings the labels nearer to their wanted places.
TEST(LabelSpread, NoOtherPositionsAreNearer) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> anywhere(-1, 11);
  for (int repeat = 0; repeat < 200; ++repeat) {
    Places wanted(9);
    for (double& place : wanted) place = anywhere(random);
    std::sort(wanted.begin(), wanted.end());
    const Places places = spread_labels(wanted, 1, 0, 10);
    const auto distance = [&](const Places& at) {
      double sum = 0;
      for (size_t i = 0; i < at.size(); ++i) sum += std::pow(at[i] - wanted[i], 2);
      return sum;
    };
    const auto allowed = [](const Places& at) {
      bool fits = at.front() >= -1e-9 && at.back() <= 10 + 1e-9;
      for (size_t i = 1; i < at.size(); ++i) fits = fits && at[i] - at[i - 1] >= 1 - 1e-9;
      return fits;
    };
    ASSERT_TRUE(allowed(places));
    for (size_t from = 0; from < places.size(); ++from) {
      for (size_t to = from + 1; to <= places.size(); ++to) {
        for (const double step : {-0.01, 0.01}) {
          Places moved = places;
          for (size_t i = from; i < to; ++i) moved[i] += step;
          if (allowed(moved)) {
            EXPECT_GE(distance(moved), distance(places) - 1e-9);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace strata::drawing
