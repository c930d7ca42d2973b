#include "plan/forms/shared_layers.h"

#include <gtest/gtest.h>

namespace strata::plan {
namespace {

TEST(SharedLayers, OnAnInfiniteLinkTheStepTakesItsComputeTime) {
  EXPECT_DOUBLE_EQ(shared_layers_seconds({.layers = 5,
                                          .passes = 3,
                                          .forward = 1,
                                          .backward = 2,
                                          .heads = 0.5,
                                          .gathers_weights = true}),
                   3 * (5 * 3 + 0.5));
}

TEST(SharedLayers, WithoutWorkTheStepTakesItsCommunicationTime) {
  // The first three of five layers are gathered in forward and backward, except the two in memory
  // at the turn to backward. The fourth is then in memory; the last and the words stay.
  SharedLayers step{.layers = 5,
                    .gathers_weights = true,
                    .layer_gather = 10,
                    .words_gather = 7,
                    .layer_reduce = 100,
                    .words_reduce = 1000};
  EXPECT_DOUBLE_EQ(shared_layers_seconds(step), 7 + 5 * 10 + 2 * 10 + 5 * 100 + 1000);
  // A further pass finds the first two layers in memory.
  step.passes = 2;
  EXPECT_DOUBLE_EQ(shared_layers_seconds(step), 7 + 5 * 10 + 3 * 2 * 10 + 2 * (5 * 100 + 1000));
  step.gathers_weights = false;
  step.layer_return = 20;
  step.words_return = 50;
  EXPECT_DOUBLE_EQ(shared_layers_seconds(step), 2 * (5 * 100 + 1000) + 5 * 20 + 50);
}

// Forward runs from 2 to 9: weights arrive at 2, 4, 6 and 8. The fourth layer's backward starts at
// 9 and its reduction at 10; the backward of the third starts at 10, of the second at 11. From then
// on the first layer's weights share the link: that reduction ends at 13, and the weights arrive at
// 15. The first layer uses the third's memory, whose reduction ends at 16, so its backward runs
// until 17. The second layer's reduction ends at 18, the first's at 20.
TEST(SharedLayers, LayersWaitForWeightsAndForMemory) {
  SharedLayers step{.layers = 4,
                    .forward = 1,
                    .backward = 1,
                    .gathers_weights = true,
                    .layer_gather = 2,
                    .layer_reduce = 2};
  EXPECT_DOUBLE_EQ(shared_layers_seconds(step), 20);
  // Without gathers, forward runs until 4. Backward starts at 4, 5, 6 and, after the third layer's
  // reduction from 7 to 9, at 9. The link sends from 5 to 13.
  step.gathers_weights = false;
  EXPECT_DOUBLE_EQ(shared_layers_seconds(step), 13);
  // The heads write a part of the words' gradient, so the second pass waits for it before the
  // heads, until 16. Its backward starts at 16.5.
  step.words_reduce = 3;
  step.passes = 2;
  step.heads = 0.5;
  EXPECT_DOUBLE_EQ(shared_layers_seconds(step), 0.5 + 16 + 0.5 + 1 + 4 * 2 + 3);
}

}  // namespace
}  // namespace strata::plan
