#include "bert/blocks/layer_drop.h"

#include <gtest/gtest.h>

#include <cmath>

namespace strata::bert {
namespace {

constexpr size_t kLayers = 6;

TEST(LayerDrop, ThetaFallsFromOne) {
  const LayerDrop drop{.theta = 0.5, .gamma = 0.01};
  EXPECT_EQ(theta_at(drop, 1), 1);
  EXPECT_NEAR(theta_at(drop, 101), 0.5 * std::exp(-1) + 0.5, 1e-15);
  EXPECT_NEAR(theta_at(drop, 100001), 0.5, 1e-15);
}

TEST(LayerDrop, LayersAreKeptAsOftenAsTheirProbabilitySays) {
  const LayerDrop drop{.theta = 0.3, .gamma = 1e9};  // reaches its limit at step 2
  constexpr int kSteps = 20000;
  std::vector<double> kept(kLayers);
  for (int step = 2; step < kSteps + 2; ++step) {
    const auto scales = layer_scales(drop, 7, static_cast<uint64_t>(step), kLayers);
    for (size_t layer = 0; layer < kLayers; ++layer) {
      if (scales[layer] == 0) continue;
      ++kept[layer];
      EXPECT_EQ(scales[layer],
                static_cast<float>(
                    1 / keep_probability(drop, static_cast<uint64_t>(step), layer, kLayers)));
    }
  }
  for (size_t layer = 0; layer < kLayers; ++layer) {
    const double p = 1 - 0.7 * static_cast<double>(layer) / kLayers;
    EXPECT_NEAR(kept[layer] / kSteps, p, 5 * std::sqrt(p * (1 - p) / kSteps) + 1e-12) << layer;
  }
}

TEST(LayerDrop, LayersStepsAndSeedsAreDrawnApart) {
  const LayerDrop drop{.theta = 0.01, .gamma = 1e9};
  // Layers 4 and 5 of 6 are kept about 1/3 and 1/6 of the time; both together, as often as
  // independent events.
  int both = 0, same_step = 0, same_seed = 0;
  constexpr int kSteps = 20000;
  for (uint64_t step = 2; step < kSteps + 2; ++step) {
    const auto scales = layer_scales(drop, 1, step, kLayers);
    both += scales[4] > 0 && scales[5] > 0;
    same_step += (scales[4] > 0) == (layer_scales(drop, 1, step + 1, kLayers)[4] > 0);
    same_seed += (scales[4] > 0) == (layer_scales(drop, 2, step, kLayers)[4] > 0);
  }
  const double p4 = keep_probability(drop, 2, 4, kLayers),
               p5 = keep_probability(drop, 2, 5, kLayers);
  EXPECT_NEAR(both / double{kSteps}, p4 * p5, 0.01);
  EXPECT_NEAR(same_step / double{kSteps}, p4 * p4 + (1 - p4) * (1 - p4), 0.02);
  EXPECT_NEAR(same_seed / double{kSteps}, p4 * p4 + (1 - p4) * (1 - p4), 0.02);
}

TEST(LayerDrop, IsTheSameOnEveryRank) {
  const LayerDrop drop{.theta = 0.3, .gamma = 0.1};
  EXPECT_EQ(layer_scales(drop, 7, 12, kLayers), layer_scales(drop, 7, 12, kLayers));
}

// Closed form of the sum over steps: 1 - (1 - theta_mean)(L - 1)/(2 L), theta_mean = theta + (1 -
// theta)(1 - e^(-gamma T))/(gamma T). It is 0.763, 0.773 and 0.794 for T large, gamma 100/T.
TEST(LayerDrop, TheExpectedShareFollowsTheClosedForm) {
  for (const auto& [layers, share] :
       {std::pair(24, 0.763), std::pair(12, 0.773), std::pair(6, 0.794)}) {
    const uint64_t steps = 100000;
    const LayerDrop drop{.theta = 0.5, .gamma = 100.0 / static_cast<double>(steps)};
    EXPECT_NEAR(expected_share(drop, steps, static_cast<size_t>(layers)), share, 0.0006) << layers;
  }
}

}  // namespace
}  // namespace strata::bert
