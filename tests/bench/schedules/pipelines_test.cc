#include "bench/schedules/pipelines.h"

#include <gtest/gtest.h>

namespace strata::bench {
namespace {

// Two replicas of two stages. The second has a tenth more to compute. Both wait an eighth of the
// time that a stage takes for its layers.
TEST(SlowestReplica, IsComparedWithItsOwnLayers) {
  const double spans[] = {9, 8, 9.9, 9.8}, compute[] = {8.5, 8, 9.3, 8.8};
  const ReplicaTimes slowest = slowest_replica(spans, compute, 2);
  EXPECT_DOUBLE_EQ(slowest.span, 9.9);
  EXPECT_DOUBLE_EQ(slowest.layers, 8.8);
  EXPECT_DOUBLE_EQ(slowest.heads, 0.5);
  EXPECT_DOUBLE_EQ(slowest.span / slowest.layers - 1, 0.125);
}

TEST(SlowestReplica, LayerTimeIsTheMeanOfAllStagesButTheFirst) {
  const double spans[] = {9, 1, 2, 3}, compute[] = {5, 6, 7, 8};
  const ReplicaTimes only = slowest_replica(spans, compute, 4);
  EXPECT_DOUBLE_EQ(only.layers, 7);
  EXPECT_EQ(only.heads, 0) << "no more than other stages";
}

}  // namespace
}  // namespace strata::bench
