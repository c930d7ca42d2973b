#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "comm/buckets/gradient_buckets.h"
#include "comm/buckets/sharding/gather_groups.h"
#include "comm/buckets/sharding/weight_gatherer.h"
#include "device/memory/buffer.h"
#include "tests/support/host_backend.h"

namespace strata::comm {
namespace {

using device::DType;
using device::Stream;

const std::vector<int64_t> kBoundaries = {0, 96, 200, 333, 400, 512};
const std::vector<Range> kBuckets = {{0, 96},    {96, 160},  {160, 200},
                                     {200, 333}, {333, 400}, {400, 512}};
constexpr int64_t kWeights = 512;

// `memory_is_host` decides whether a thread gathers.
class WeightGathererOverRanks : public testing::TestWithParam<bool> {
 protected:
  WeightGathererOverRanks()
      : backend_(DType::kF32, GetParam()),
        groups_(make_gather_groups(kBoundaries, kBuckets)),
        memory_(place_gather_groups(groups_)),
        group_memory_(backend_, static_cast<size_t>(memory_.elements) * sizeof(float)) {
    for (const Range& bucket : kBuckets) shards_.push_back(local_shard(bucket, *world_));
    const int64_t kept = device::total_size(shards_);
    shard_memory_ = device::Buffer(backend_, static_cast<size_t>(kept) * sizeof(float));
    kept_ = {{shard_memory_.data(), DType::kF32, 1, kept}, kWeights, device::packed(shards_)};
    gathered_ = {{group_memory_.data(), DType::kF32, 1, memory_.elements}, kWeights, memory_.runs};
    gatherer_ = make_weight_gatherer(backend_, *world_, kept_, gathered_, kBuckets);
  }

  static float weight(int64_t element, int step) {
    return static_cast<float>(element + 1000 * step);
  }
  void set_shards(int step) {
    for (const Range& shard : shards_) {
      const device::Tensor kept = elements_of(kept_, shard);
      for (int64_t i = 0; i < shard.size(); ++i) {
        kept.as<float>()[i] = weight(shard.begin + i, step);
      }
    }
  }
  void expect_weights(size_t group, int step) {
    const device::Tensor whole = elements_of(gathered_, groups_[group]);
    for (int64_t i = 0; i < whole.size(); ++i) {
      ASSERT_EQ(whole.as<float>()[i], weight(groups_[group].begin + i, step))
          << i << " of " << group;
    }
  }

  std::unique_ptr<Communicator> world_ = make_mpi_communicator();
  testing_support::HostBackend backend_;
  std::vector<Range> groups_;
  GatherGroupMemory memory_;
  device::Buffer group_memory_, shard_memory_;
  std::vector<Range> shards_;
  device::Arena kept_, gathered_;
  std::unique_ptr<WeightGatherer> gatherer_;

  // Gathers the groups in this order, each one before `use`.
  void gather(const std::vector<int>& groups, const std::function<void(int group)>& use) {
    OperationList list;
    std::vector<int> gathered;
    int last = kNoObject;
    const auto add_gather = [&](int group) {
      gathered.push_back(
          list.add({.kind = Operation::Kind::kGather,
                    .object = group,
                    .lane = Lane::kGathers,
                    .after = last == kNoObject ? std::vector<int>() : std::vector{last},
                    .run = [this, group] { gatherer_->gather(group); }}));
    };
    add_gather(groups.front());
    for (size_t i = 0; i < groups.size(); ++i) {
      if (i + 1 < groups.size()) add_gather(groups[i + 1]);
      last =
          list.add({.object = groups[i], .after = {gathered[i]}, .run = [&use, group = groups[i]] {
                      use(group);
                    }});
    }
    executor_->begin(list);
    executor_->run(0, list.size());
    executor_->finish();
  }

  std::unique_ptr<Executor> executor_ = make_executor(backend_);
};

INSTANTIATE_TEST_SUITE_P(Memory, WeightGathererOverRanks, testing::Bool(), [](const auto& test) {
  return test.param ? "of_the_host" : "of_a_device";
});

// Gathers one group ahead of its use, from the last to the first, as forward does.
TEST_P(WeightGathererOverRanks, EveryRankSeesAllWeightsOfAGatherGroup) {
  ASSERT_EQ(groups_.size(), 5u);
  for (int step = 0; step < 3; ++step) {
    set_shards(step);
    gather({4, 3, 2, 1, 0}, [&](int group) { expect_weights(static_cast<size_t>(group), step); });
    expect_weights(4, step);  // it keeps its memory
  }
}

TEST_P(WeightGathererOverRanks, SendsItsShardToEveryOtherRank) {
  const int64_t before = world_->traffic()->bytes();
  gather({1}, [](int) {});
  int64_t kept = 0;
  for (const size_t bucket : {1, 2}) kept += shards_[bucket].size();
  EXPECT_EQ(world_->traffic()->bytes() - before, (world_->size() - 1) * kept * 4);
}

TEST_P(WeightGathererOverRanks, ReportsTheTimesOfGathers) {
  executor_->time_steps(true);
  gather({3, 2}, [](int) {});
  const std::vector<OperationTime>& times = executor_->times();
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].object, 3);
  EXPECT_EQ(times[1].object, 2);
  EXPECT_EQ(times[0].kind, Operation::Kind::kGather);
  EXPECT_EQ(times[0].lane, Lane::kGathers);
  EXPECT_LE(times[0].begin_ns, times[0].end_ns);
  EXPECT_LE(times[0].end_ns, times[1].begin_ns);
}

TEST_P(WeightGathererOverRanks, RefusesBucketsAcrossGatherGroups) {
  const std::vector<Range> across = {{0, 150}, {150, 512}};
  EXPECT_THROW(
      make_weight_gatherer(backend_, *world_, device::Arena(kept_.memory()), gathered_, across),
      Error);
}

}  // namespace
}  // namespace strata::comm
