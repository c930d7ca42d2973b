#include "comm/buckets/sharding/gather_groups.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "comm/buckets/bucket_ranges.h"
#include "comm/buckets/bucket_readiness.h"
#include "comm/buckets/sharding/shared_buffers.h"

namespace strata::comm {
namespace {

using Ranges = std::vector<Range>;

// Buckets [0, 40) [40, 104) [104, 140) [140, 240) [240, 300) [300, 310).
const std::vector<int64_t> kBoundaries = {0, 20, 40, 140, 240, 300, 310};
const Ranges kBuckets = {{0, 40}, {40, 104}, {104, 140}, {140, 240}, {240, 300}, {300, 310}};
const Ranges kGroups = {{0, 40}, {40, 140}, {140, 240}, {240, 300}, {300, 310}};

TEST(GatherGroups, BeginAndEndAtBlockAndBucketBoundaries) {
  EXPECT_EQ(make_gather_groups(kBoundaries, kBuckets), kGroups);
  EXPECT_EQ(make_gather_groups(std::vector<int64_t>{0, 7, 100}, {{0, 60}, {60, 100}}),
            (Ranges{{0, 100}}));
}

TEST(GatherGroups, NeighboursAndBothEndsDoNotShareMemory) {
  const GatherGroupMemory memory = place_gather_groups(kGroups);
  EXPECT_EQ(memory.elements, 2 * 100 + 40 + 10);
  const auto at = [&](size_t group) {
    const auto& [range, place] = memory.runs[group];
    EXPECT_EQ(range, kGroups[group]);
    EXPECT_LE(place + range.size(), memory.elements);
    return Range{place, place + range.size()};
  };
  const auto apart = [](const Range& a, const Range& b) {
    return a.end <= b.begin || b.end <= a.begin;
  };
  for (size_t group = 1; group + 1 < kGroups.size(); ++group) {
    EXPECT_TRUE(apart(at(group), at(group + 1)));
    EXPECT_TRUE(apart(at(group), at(0)));
    EXPECT_TRUE(apart(at(group), at(4)));
  }
  EXPECT_TRUE(apart(at(0), at(4)));
  EXPECT_FALSE(apart(at(1), at(3)));
  EXPECT_EQ(place_gather_groups({{0, 64}}).elements, 64);
  EXPECT_EQ(place_gather_groups({{0, 64}, {64, 96}}).elements, 96);
}

TEST(SharedBuffers, AWriteWaitsForReductionsOfTheSameMemory) {
  const GatherGroupMemory memory = place_gather_groups(kGroups);
  const device::Arena arena({nullptr, device::DType::kF32, 1, memory.elements}, 310, memory.runs);
  const SharedBuffers buffers(arena.runs(), kBuckets);
  EXPECT_EQ(buffers.last_bucket({50, 60}), 2);
  EXPECT_EQ(buffers.reductions_before({0, 20}, 0), 0);
  EXPECT_EQ(buffers.reductions_before({40, 140}, 0), 0);
  EXPECT_EQ(buffers.reductions_before({140, 240}, 0), 0);
  EXPECT_EQ(buffers.reductions_before({240, 300}, 0), 3) << "buckets 0, 1 and 2, of gather group 1";
  EXPECT_EQ(buffers.reductions_before({300, 310}, 0), 0);
  // In the next round.
  EXPECT_EQ(buffers.reductions_before({0, 20}, 1), 1);
  EXPECT_EQ(buffers.reductions_before({40, 140}, 1), 5) << "gather group 3 came last";
  EXPECT_EQ(buffers.reductions_before({140, 240}, 1), 4);
  EXPECT_EQ(buffers.reductions_before({240, 300}, 1), 6 + 3);
  EXPECT_EQ(buffers.reductions_before({300, 310}, 1), 6);
  EXPECT_THROW(buffers.last_bucket({30, 50}), Error);
  EXPECT_THROW(SharedBuffers(arena.runs(), {{0, 60}, {60, 310}}), Error);
}

TEST(BucketReadiness, RoundsFollowEachOther) {
  BucketReadiness readiness({{0, 10}, {10, 30}}, 2);
  std::vector<std::pair<int, int>> whole;  // buckets and rounds
  const auto mark_ready = [&](int64_t begin, int64_t end) {
    whole.clear();
    readiness.mark_ready(begin, end,
                         [&](int bucket, int round) { whole.emplace_back(bucket, round); });
    return whole;
  };
  using Whole = std::vector<std::pair<int, int>>;
  EXPECT_EQ(mark_ready(0, 20), (Whole{{0, 0}}));
  EXPECT_TRUE(readiness.is_ready(0, 0));
  EXPECT_FALSE(readiness.is_ready(0, 1));
  EXPECT_FALSE(readiness.is_ready(1, 0));
  EXPECT_THROW(mark_ready(15, 30), Error) << "twice in a round";
  EXPECT_EQ(mark_ready(20, 30), (Whole{{1, 0}}));
  EXPECT_EQ(readiness.rounds_of(1), 1);
  EXPECT_THROW(readiness.check_all_ready(), Error);
  EXPECT_EQ(mark_ready(0, 30), (Whole{{0, 1}, {1, 1}}));
  EXPECT_TRUE(readiness.is_ready(1, 1));
  EXPECT_NO_THROW(readiness.check_all_ready());
  EXPECT_THROW(mark_ready(0, 10), Error);
  readiness.begin_next_step();
  EXPECT_EQ(readiness.rounds_of(0), 0);
}

}  // namespace
}  // namespace strata::comm
