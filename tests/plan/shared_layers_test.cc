#include "plan/shared_layers.h"

#include <gtest/gtest.h>

namespace strata::plan {
namespace {

TEST(SharedLayers, WithoutALinkTheStepComputes) {
  EXPECT_DOUBLE_EQ(shared_layers_seconds({.layers = 5,
                                          .passes = 3,
                                          .forward = 1,
                                          .backward = 2,
                                          .heads = 0.5,
                                          .gathers_weights = true}),
                   3 * (5 * 3 + 0.5));
}

TEST(SharedLayers, WithoutWorkTheLinkSends) {
  // Of five layers the first three are gathered forward and back, but for the two in memory where
  // forward turns back; the fourth then is, and the last and the words stay.
  SharedLayers step{.layers = 5,
                    .gathers_weights = true,
                    .layer_gather = 10,
                    .words_gather = 7,
                    .layer_reduce = 100,
                    .words_reduce = 1000};
  EXPECT_DOUBLE_EQ(shared_layers_seconds(step), 7 + 5 * 10 + 2 * 10 + 5 * 100 + 1000);
  // A further pass finds the first two layers there.
  step.passes = 2;
  EXPECT_DOUBLE_EQ(shared_layers_seconds(step), 7 + 5 * 10 + 3 * 2 * 10 + 2 * (5 * 100 + 1000));
  step.gathers_weights = false;
  step.layer_return = 20;
  step.words_return = 50;
  EXPECT_DOUBLE_EQ(shared_layers_seconds(step), 2 * (5 * 100 + 1000) + 5 * 20 + 50);
}

// Forward 2 to 9: weights arrive at 2, 4, 6 and 8. The fourth layer goes back from 9 and is reduced
// from 10, the third goes back from 10, the second from 11. From then on the first layer's weights
// share the link: that reduction ends at 13, they arrive at 15. The first takes the third's memory,
// whose reduction ends at 16: it goes back until 17. The second is sent until 18, the first
// until 20.
TEST(SharedLayers, LayersWaitForWeightsAndForMemory) {
  SharedLayers step{.layers = 4,
                    .forward = 1,
                    .backward = 1,
                    .gathers_weights = true,
                    .layer_gather = 2,
                    .layer_reduce = 2};
  EXPECT_DOUBLE_EQ(shared_layers_seconds(step), 20);
  // Without gathers: forward until 4, back from 4, 5, 6 and, behind the third's reduction from 7 to
  // 9, from 9. The link sends from 5 to 13.
  step.gathers_weights = false;
  EXPECT_DOUBLE_EQ(shared_layers_seconds(step), 13);
  // The words' gradient has the heads' part: the second pass waits for it in front of the heads,
  // until 16; it goes back from 16.5.
  step.words_reduce = 3;
  step.passes = 2;
  step.heads = 0.5;
  EXPECT_DOUBLE_EQ(shared_layers_seconds(step), 0.5 + 16 + 0.5 + 1 + 4 * 2 + 3);
}

}  // namespace
}  // namespace strata::plan
