#include "scoring/plots/curve_chart.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace strata::scoring {
namespace {

TEST(CurveChart, OnlySomeOfManyRunsAreDrawnWithTheBest) {
  constexpr int kRuns = 301;
  std::vector<Curve> curves(2 * kRuns);
  const auto systems_of = [&](int runs) {
    std::vector<DrawnSystem> systems(2);
    for (int i = 0; i < 2 * runs; ++i) {
      Curve& curve = curves[static_cast<size_t>(i)];
      curve.converged = true;
      curve.evaluations = {{1, 1.0, 0.6}, {2, 2.0, 0.3}, {10.0 + i / 2, 10.0 + i, 0.7}};
      DrawnSystem& system = systems[static_cast<size_t>(i % 2)];
      system.curves.push_back(&curve);
      system.runs.push_back({&curve, points_of(curve, CurveAxis::kMinutes), ""});
    }
    return systems;
  };
  const drawing::Chart whole = curve_chart(systems_of(300), 0.7, CurveAxis::kMinutes, "bert");
  EXPECT_EQ(whole.lines.size(), 600u);
  EXPECT_EQ(whole.lines[0].points[1].second, 0.3);
  const auto many = systems_of(kRuns);
  ASSERT_TRUE(has_too_many_runs(many));
  const drawing::Chart chart = curve_chart(many, 0.7, CurveAxis::kMinutes, "bert");
  ASSERT_EQ(chart.lines.size(), 2 * (kRunsOfMany + 1));
  EXPECT_NE(chart.y_title.find("best so far"), std::string::npos);
  std::vector<double> ends;
  for (size_t i = 0; i <= kRunsOfMany; ++i) {
    EXPECT_EQ(chart.lines[i].bold, i == 0);
    EXPECT_EQ(chart.lines[i].points[1].second, 0.6) << "the best so far";
    ends.push_back(chart.lines[i].points.back().first);
  }
  EXPECT_EQ(ends[1], 10) << "the fastest";
  EXPECT_EQ(ends.back(), 10.0 + kRuns - 1) << "the slowest";
}

}  // namespace
}  // namespace strata::scoring
