#include "plan/step_forms.h"

#include <gtest/gtest.h>

namespace strata::plan {
namespace {

TEST(StepForms, WhatOfManyLayersIsExposedIsTheLargerOfTwoTerms) {
  // C = 8, tail 1/8.
  EXPECT_EQ(exposed_communication(8, 0.125, 2), 6);
  EXPECT_EQ(exposed_communication(8, 0.125, 7.5), 1);
  EXPECT_EQ(exposed_communication(8, 0.125, 20), 1);
}

TEST(StepForms, ARingSendsAllButARanksShareTwice) {
  const Link link{1e-3, 1e6};
  EXPECT_EQ(all_reduce_seconds(link, 1e6, 1), 0);
  // 2 x 1/2 MB; 2 messages.
  EXPECT_DOUBLE_EQ(all_reduce_seconds(link, 1e6, 2), 1 + 2e-3);
  // 2 x 3/4 MB; a tree of 4 has 2 x 2 messages, a ring 6.
  EXPECT_DOUBLE_EQ(all_reduce_seconds(link, 1e6, 4), 1.5 + 4e-3);
}

// Lamy-Poirier, arXiv 2106.02679: two stages, six layers.
TEST(StepForms, TheBubbleHasThePapersShares) {
  EXPECT_NEAR(bubble_share(2, 1, 2), 0.5, 1e-12);
  EXPECT_NEAR(bubble_share(2, 1, 8), 0.125, 1e-12);
  EXPECT_NEAR(bubble_share(2, 3, 2), 1.0 / 6, 1e-12);
  EXPECT_NEAR(bubble_share(2, 3, 8), 1.0 / 24, 1e-12);
  EXPECT_DOUBLE_EQ(bubble_with({.paper = 0.25, .heads = 0.2, .messages = 0.1}), 0.35);
  EXPECT_DOUBLE_EQ(bubble_with({.paper = 0.25, .heads = 0.5, .messages = 0.1}), 0.5);
}

TEST(StepForms, BytesOfMessagesAndActivations) {
  EXPECT_EQ(message_bytes(3, 100, 64, 2), 2 * 3 * 100 * 64 * 2);
  // 10 tokens, H 4, I 16, A 2, 2 and 4 bytes: 10 x (28 + 32) x 2 + 10 x 4 x 4.
  EXPECT_EQ(layer_activation_bytes(10, 4, 16, 2, 2, 4), 1200 + 160);
}

}  // namespace
}  // namespace strata::plan
