#include "bench/schedule_benchmark.h"

#include <gtest/gtest.h>

#include <vector>

namespace strata::bench {
namespace {

double exposed(const std::vector<double>& seconds, const std::vector<double>& before_end) {
  return exposed_communication(seconds, before_end);
}

TEST(ExposedCommunication, IsWhatIsLeftWhenBackwardEnds) {
  EXPECT_EQ(exposed({1, 1, 1}, {3, 2, 1}), 0);
  EXPECT_EQ(exposed({1, 1, 1}, {2, 1, 0}), 1) << "each waits for its layer";
  EXPECT_EQ(exposed({2, 2, 2}, {2, 1, 0}), 4) << "each waits for the one before";
  EXPECT_EQ(exposed({5, 1, 1}, {7, 1, 0}), 1) << "both in turn";
  EXPECT_EQ(exposed({}, {}), 0);
}

// C = 8, tail 1/8: the larger of tail C and C - B.
TEST(ExposedCommunication, OfManyLayersIsTheLargerOfTwoTerms) {
  constexpr int kLayers = 1000;
  for (const double backward : {2.0, 6.0, 7.5, 20.0}) {
    std::vector<double> seconds(kLayers, 7.0 / kLayers), before_end(kLayers);
    for (int i = 0; i < kLayers; ++i) {
      before_end[static_cast<size_t>(i)] = backward * (kLayers - i) / kLayers;
    }
    seconds.push_back(1);
    before_end.push_back(0);
    EXPECT_NEAR(exposed(seconds, before_end), std::max(1.0, 8 - backward), 0.01) << backward;
  }
}

}  // namespace
}  // namespace strata::bench
