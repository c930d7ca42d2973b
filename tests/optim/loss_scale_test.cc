#include "optim/loss_scale.h"

#include <gtest/gtest.h>

#include <vector>

namespace strata::optim {
namespace {

TEST(LossScale, IsHalvedByAStepThatOverflows) {
  LossScale scale;
  EXPECT_EQ(scale.scale, 65536);
  scale.after_step(true, 2000);
  scale.after_step(true, 2000);
  EXPECT_EQ(scale.scale, 16384);
  EXPECT_EQ(scale.skipped_steps, 2);
}

TEST(LossScale, IsDoubledAfterTheConfiguredNumberOfCleanSteps) {
  LossScale scale{.scale = 8};
  std::vector<float> scales;
  for (int step = 0; step < 7; ++step) {
    scale.after_step(false, 3);
    scales.push_back(scale.scale);
  }
  EXPECT_EQ(scales, (std::vector<float>{8, 8, 16, 16, 16, 32, 32}));
  EXPECT_EQ(scale.skipped_steps, 0);
}

TEST(LossScale, CountsCleanStepsFromTheLastThatOverflowed) {
  LossScale scale{.scale = 8};
  std::vector<float> scales;
  for (const bool overflowed : {false, false, true, false, false, false}) {
    scale.after_step(overflowed, 3);
    scales.push_back(scale.scale);
  }
  EXPECT_EQ(scales, (std::vector<float>{8, 8, 4, 4, 4, 8}));
}

TEST(LossScale, StaysWithinItsLimits) {
  LossScale least{.scale = 2}, most{.scale = 1 << 23};
  for (int step = 0; step < 3; ++step) least.after_step(true, 1);
  EXPECT_EQ(least.scale, 1);
  EXPECT_EQ(least.skipped_steps, 3);
  for (int step = 0; step < 3; ++step) most.after_step(false, 1);
  EXPECT_EQ(most.scale, 1 << 24);
}

}  // namespace
}  // namespace strata::optim
