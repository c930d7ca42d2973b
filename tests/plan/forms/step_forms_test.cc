#include "plan/forms/step_forms.h"

#include <gtest/gtest.h>

#include <vector>

namespace strata::plan {
namespace {

TEST(StepForms, ManyLayersExposeTheLargerOfTwoTerms) {
  // C = 8, tail 1/8: max(tail C, C - B).
  constexpr int64_t kMany = 1'000'000'000'000;
  EXPECT_NEAR(exposed_communication({0, 7, 1}, kMany, 2), 6, 1e-9);
  EXPECT_NEAR(exposed_communication({0, 7, 1}, kMany, 7.5), 1, 1e-9);
  EXPECT_NEAR(exposed_communication({0, 7, 1}, kMany, 20), 1, 1e-9);
}

TEST(StepForms, FewLayersExposeTheTimeOfTheirBuckets) {
  for (const double backward : {0.0, 1.0, 3.0, 7.0, 30.0}) {
    // The early part, four layers of 2, the late part.
    const std::vector<double> seconds = {1.5, 2, 2, 2, 2, 0.5};
    const std::vector<double> before_end = {
        backward, backward * 0.75, backward * 0.5, backward / 4, 0, 0};
    EXPECT_NEAR(exposed_communication({1.5, 8, 0.5}, 4, backward),
                exposed_communication(seconds, before_end), 1e-12)
        << backward;
  }
}

TEST(StepForms, MessagesDelayTheNextRunOfAStage) {
  // Two stages with three runs of 1 s, without messages: one stage waits for one run.
  EXPECT_NEAR(pass_bubble({.stages = 2, .runs = 3, .micro_batches = 4, .run = 1}), 1, 1e-12);
  // Four micro-batches hide messages of 0.5 s, except the first: 1 + 0.5.
  EXPECT_NEAR(pass_bubble({.stages = 2, .runs = 3, .micro_batches = 4, .run = 1, .message = 0.5}),
              1.5, 1e-12);
  // Two do not: both earlier runs take 2 x 1.5 s instead of 2.
  EXPECT_NEAR(pass_bubble({.stages = 2, .runs = 3, .micro_batches = 2, .run = 1, .message = 0.5}),
              3.5, 1e-12);
  // Behind a reduction of 0.75 s even four micro-batches wait: 2 x (1.5 + 0.75) s instead of 4. The
  // last run does not wait for the link.
  EXPECT_NEAR(pass_bubble({.stages = 2,
                           .runs = 3,
                           .micro_batches = 4,
                           .run = 1,
                           .message = 0.5,
                           .reduction = 0.75}),
              2 * 0.5 + 1.5, 1e-12);
  // The link is slower than the stages: in each of three runs, four messages of 2 s replace 4 s,
  // and the last stage begins 3 s late.
  EXPECT_NEAR(pass_bubble({.stages = 2, .runs = 3, .micro_batches = 4, .run = 1, .message = 2}),
              12 + 3, 1e-12);
}

TEST(StepForms, TheFirstRankOfARingRunsBackwardOfTwoModules) {
  EXPECT_NEAR(longest_backward_share(3, 24, 0), 2.0 / 3, 1e-12);
  EXPECT_NEAR(longest_backward_share(3, 24, 0.1), (16.0 / 24 + 0.1) / 1.1, 1e-12);
  // Twelve layers in five modules: 2, 3, 3, 2, 2, with the first and the last on one rank.
  EXPECT_NEAR(longest_backward_share(5, 12, 0), 4.0 / 12, 1e-12);
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

TEST(StepForms, BytesOfMessagesAndActivationsMatchTheFormula) {
  EXPECT_EQ(message_bytes(3, 100, 64, 2), 2 * 3 * 100 * 64 * 2);
  // 10 tokens, H 4, I 16, A 2, 2 and 4 bytes: 10 x (28 + 32) x 2 + 10 x 4 x 4.
  EXPECT_EQ(layer_activation_bytes(10, 4, 16, 2, 2, 4), 1200 + 160);
}

}  // namespace
}  // namespace strata::plan
