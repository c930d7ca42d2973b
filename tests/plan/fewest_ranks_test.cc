#include "plan/fewest_ranks.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace strata::plan {
namespace {

Planner planner() {
  Planner planner;
  planner.measured.push_back({.name = "made", .ranks = 8});
  planner.calibration.costs = {.per_sample = 3e-3, .per_step = 20e-3, .between_nodes = 5e-3};
  planner.calibration.step_error = 0.05;
  planner.ranks_per_node = 8;
  planner.strategy = "stratified";
  planner.samples = [](double) { return Samples{3e6, 0.02, "given"}; };
  return planner;
}

std::optional<int64_t> first_of(const std::vector<int64_t>& all, double batch, double seconds,
                                double RunTime::*time) {
  for (const int64_t ranks : all) {
    if (planner().predict(ranks, batch, {}).run.*time <= seconds) return ranks;
  }
  return std::nullopt;
}

TEST(FewestRanks, AreTheFirstRanksWithinTheTime) {
  const std::vector<int64_t> all = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  for (const double seconds : {60.0, 130.0, 400.0, 1000.0, 3000.0}) {
    const FewestRanks found = fewest_ranks(planner(), {1024}, {}, seconds);
    const auto ranks_of = [](const std::optional<Prediction>& prediction) {
      return prediction ? std::optional(prediction->input.ranks) : std::nullopt;
    };
    EXPECT_EQ(ranks_of(found.expected), first_of(all, 1024, seconds, &RunTime::total)) << seconds;
    EXPECT_EQ(ranks_of(found.sure), first_of(all, 1024, seconds, &RunTime::high)) << seconds;
  }
}

// Nodes of eight: 448 samples are seven nodes times 8, which 16 and 32 ranks divide, too.
TEST(FewestRanks, FillNodesAndDivideTheBatchEvenly) {
  const FewestRanks found = fewest_ranks(planner(), {448}, {}, 350);
  ASSERT_TRUE(found.expected);
  EXPECT_EQ(found.expected->input.ranks,
            first_of({1, 2, 4, 8, 16, 32, 56, 64, 112, 224, 448}, 448, 350, &RunTime::total));
}

TEST(FewestRanks, TakeTheBatchThatNeedsFewest) {
  const FewestRanks found = fewest_ranks(planner(), {128, 1024}, {}, 150);
  ASSERT_TRUE(found.expected);
  EXPECT_EQ(found.expected->input.batch, 1024);
  EXPECT_FALSE(fewest_ranks(planner(), {128}, {}, 1).expected) << "3e6 / 128 steps take longer";
}

}  // namespace
}  // namespace strata::plan
