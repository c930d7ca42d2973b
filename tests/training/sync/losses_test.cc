#include "training/sync/losses.h"

#include <gtest/gtest.h>

namespace strata::training {
namespace {

TEST(LossesOverRanks, OneRankKeepsItsLosses) {
  const auto communicator = comm::make_single_communicator();
  const bert::Losses losses{{1.25, 3, 8}, {0.5, 2, 4}, {2.5, 0, 16}};
  const bert::Losses sum = all_reduce(*communicator, losses);
  EXPECT_EQ(sum.masked_lm.loss, 1.25);
  EXPECT_EQ(sum.masked_lm.correct, 3);
  EXPECT_EQ(sum.masked_lm.count, 8);
  EXPECT_EQ(sum.next_sentence.loss, 0.5);
  EXPECT_EQ(sum.next_sentence.correct, 2);
  EXPECT_EQ(sum.next_sentence.count, 4);
  EXPECT_EQ(sum.standardization.loss, 2.5);
  EXPECT_EQ(sum.standardization.count, 16);
}

}  // namespace
}  // namespace strata::training
