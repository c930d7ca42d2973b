#include "scoring/plots/accuracy_axis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace strata::scoring {
namespace {

// Returns a run that evaluates every minute.
Curve run_of(const std::vector<double>& accuracies) {
  Curve curve;
  for (const double accuracy : accuracies) {
    curve.evaluations.push_back(
        {static_cast<double>(curve.evaluations.size() + 1), std::nullopt, accuracy});
  }
  return curve;
}

AccuracyAxis axis_of(const std::vector<Curve>& curves, std::optional<double> target) {
  std::vector<const Curve*> pointers;
  for (const Curve& curve : curves) pointers.push_back(&curve);
  return AccuracyAxis::of(pointers, target);
}

// Its second half begins at 0.703, 0.02 below the target.
const std::vector<double> kLikeBert = {0.1, 0.5, 0.65, 0.703, 0.71, 0.722};

TEST(AccuracyAxis, TheRangeNearTheTargetHasMostOfTheHeight) {
  const AccuracyAxis axis = axis_of({run_of(kLikeBert)}, 0.72);
  EXPECT_EQ(axis.least(), 0.1);
  EXPECT_EQ(axis.most(), 0.722);
  ASSERT_TRUE(axis.break_at());
  EXPECT_NEAR(*axis.break_at(), 0.7, 1e-12);
  EXPECT_EQ(axis.stretched_from(), *axis.break_at());
  EXPECT_EQ(axis.stretched_to(), 0.722);
  EXPECT_EQ(axis.place(0.1), 0);
  EXPECT_NEAR(axis.place(0.4), 0.2, 1e-12);
  EXPECT_NEAR(axis.place(0.7), 0.4, 1e-12);
  EXPECT_NEAR(axis.place(0.711), 0.7, 1e-12);
  EXPECT_EQ(axis.place(0.722), 1);
  EXPECT_NEAR(axis.stretch(), (0.6 / 0.022) / (0.4 / 0.6), 1e-9);
}

TEST(AccuracyAxis, TheMedianRunDecides) {
  EXPECT_NEAR(
      *axis_of({run_of(kLikeBert), run_of(kLikeBert), run_of({0.1, 0.2, 0.3, 0.4, 0.5})}, 0.72)
           .break_at(),
      0.7, 1e-12);
}

TEST(AccuracyAxis, ErrorRatesAreStretchedAtTheirLowerEnd) {
  const AccuracyAxis axis = axis_of({run_of({1, 0.4, 0.1, 0.064, 0.061, 0.057})}, 0.058);
  ASSERT_TRUE(axis.break_at());
  EXPECT_EQ(axis.stretched_from(), 0.057);
  EXPECT_EQ(axis.stretched_to(), *axis.break_at());
  EXPECT_NEAR(*axis.break_at(), 0.064, 1e-12);
  EXPECT_NEAR(axis.place(0.064), 0.6, 1e-12);
  EXPECT_EQ(axis.place(0.057), 0);
  EXPECT_EQ(axis.place(1), 1);
  EXPECT_NEAR(axis.stretch(), (0.6 / 0.007) / (0.4 / 0.936), 1e-6);
}

TEST(AccuracyAxis, FewRunsFarBeyondTheTargetDoNotTakeItsRoom) {
  const std::vector<Curve> runs = {run_of(kLikeBert), run_of(kLikeBert), run_of({0.75, 0.76, 0.8})};
  const AccuracyAxis axis = axis_of(runs, 0.72);
  ASSERT_TRUE(axis.break_at());
  EXPECT_NEAR(*axis.break_at(), 0.7, 1e-12);
  EXPECT_NEAR(axis.stretched_to(), 0.725, 1e-12);
  EXPECT_NEAR(axis.place(0.7), 0.28, 1e-12);
  EXPECT_NEAR(axis.place(0.725), 0.88, 1e-12);
  EXPECT_EQ(axis.place(0.8), 1);
  EXPECT_NEAR(axis.stretch(), (0.6 / 0.025) / (0.28 / 0.6), 1e-6);
  // If most runs go beyond, the stretched range includes theirs.
  EXPECT_EQ(axis_of({run_of(kLikeBert), run_of({0.1, 0.5, 0.7, 0.71, 0.75, 0.8}),
                     run_of({0.1, 0.5, 0.7, 0.71, 0.75, 0.8})},
                    0.72)
                .stretched_to(),
            0.8);
}

TEST(AccuracyAxis, IsLinearIfABreakWouldNotHelp) {
  const auto straight = [](const std::vector<Curve>& curves, std::optional<double> target) {
    const AccuracyAxis axis = axis_of(curves, target);
    return !axis.break_at() && axis.stretch() == 1;
  };
  EXPECT_TRUE(straight({run_of(kLikeBert)}, std::nullopt)) << "no target";
  EXPECT_TRUE(straight({}, 0.72)) << "no runs";
  EXPECT_TRUE(straight({run_of({})}, 0.72)) << "no evaluations";
  EXPECT_TRUE(straight({run_of({0.72})}, 0.72)) << "one evaluation";
  EXPECT_TRUE(straight({run_of({0.1, 0.72})}, 0.72)) << "none but the last in the second half";
  EXPECT_TRUE(straight({run_of({0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7})}, 0.7)) << "hardly stretched";
  EXPECT_TRUE(straight({run_of({0.1, 0.6, 0.73, 0.74, 0.75})}, 0.72)) << "past the target by then";
  EXPECT_TRUE(straight({run_of({0.7, 0.7, 0.7, 0.7})}, 0.7)) << "all the same";
}

TEST(AccuracyAxis, SingleValuesAreInTheMiddle) {
  EXPECT_EQ(axis_of({run_of({0.7})}, std::nullopt).place(0.7), 0.5);
  const AccuracyAxis nothing = axis_of({}, std::nullopt);
  EXPECT_EQ(nothing.least(), 0);
  EXPECT_EQ(nothing.most(), 1);
  EXPECT_NEAR(axis_of({run_of({0.2})}, 0.4).place(0.3), 0.5, 1e-12);
}

TEST(AccuracyAxis, TicksAreRoundAndApart) {
  const AccuracyAxis axis = axis_of({run_of(kLikeBert)}, 0.72);
  const std::vector<double> ticks = axis.ticks(),
                            expected = {0.1,   0.2,   0.3,   0.4,   0.5,   0.6,
                                        0.7,   0.702, 0.704, 0.706, 0.708, 0.71,
                                        0.712, 0.714, 0.716, 0.718, 0.72,  0.722};
  ASSERT_EQ(ticks.size(), expected.size());
  for (size_t i = 0; i < ticks.size(); ++i) EXPECT_NEAR(ticks[i], expected[i], 1e-12);
  const std::vector<double> few = axis.ticks(0.15);
  for (size_t i = 1; i < few.size(); ++i) {
    EXPECT_GE(axis.place(few[i]) - axis.place(few[i - 1]), 0.15 - 1e-6);
  }
  EXPECT_EQ(axis_of({run_of({0.2, 0.4})}, std::nullopt).ticks(0.25).size(), 5u);
  EXPECT_TRUE(axis_of({run_of({0.7})}, std::nullopt).ticks().empty());
}

TEST(AccuracyAxis, NumbersAtTheirLimitsStayInThePicture) {
  const double most = std::numeric_limits<double>::max(),
               least = std::numeric_limits<double>::denorm_min();
  const std::vector<double> series[] = {{-most, 0, most},
                                        {0, least},
                                        {0.7, std::nextafter(0.7, 1)},
                                        {-most, -most, 0, 0.5, most, most},
                                        {0, 0.1, 0.2, 0.7, 0.7, std::nextafter(0.7, 1)}};
  for (const std::vector<double>& values : series) {
    for (const std::optional<double> target :
         std::vector<std::optional<double>>{std::nullopt, values.back(), 0.5}) {
      const AccuracyAxis axis = axis_of({run_of(values)}, target);
      for (const double value : values) {
        EXPECT_GE(axis.place(value), 0);
        EXPECT_LE(axis.place(value), 1);
      }
      EXPECT_LT(axis.ticks().size(), 40u);
    }
  }
}

}  // namespace
}  // namespace strata::scoring
