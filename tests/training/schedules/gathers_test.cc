#include "training/schedules/gathers.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "training/schedules/layer_order.h"
#include "training/schedules/micro_batch_order.h"

namespace strata::training {
namespace {

using enum Task::Kind;

// Embeddings, four layers and heads are a gather group each.
const std::vector<int> kGroups = {5, 4, 3, 2, 1, 0};
constexpr int kBlocks = 6, kLayers = 4;

std::map<int, int> gathers_by_block(const Schedule& schedule) {
  std::map<int, int> gathers;
  for (const Task& task : schedule.tasks) gathers[task.block] += task.kind == kGather ? 1 : 0;
  return gathers;
}

TEST(Gathers, ALayersWeightsAreGatheredOneAheadOfUse) {
  const Schedule schedule = with_gathers(micro_batch_order(kBlocks, 1), kGroups);
  const std::vector<Task> expected = {
      {kGather, 0, 0},   {kGather, 1, 0},  {kForward, 0, 0},  {kGather, 2, 0},  {kForward, 1, 0},
      {kGather, 3, 0},   {kForward, 2, 0}, {kGather, 4, 0},   {kForward, 3, 0}, {kGather, 5, 0},
      {kForward, 4, 0},  {kForward, 5, 0}, {kBackward, 5, 0}, {kReady, 5, 0},   {kBackward, 4, 0},
      {kReady, 4, 0},    {kGather, 2, 0},  {kBackward, 3, 0}, {kReady, 3, 0},   {kGather, 1, 0},
      {kBackward, 2, 0}, {kReady, 2, 0},   {kBackward, 1, 0}, {kReady, 1, 0},   {kBackward, 0, 0},
      {kReady, 0, 0},    {kUpdate, 0, 0}};
  EXPECT_EQ(schedule.tasks, expected);
}

TEST(Gathers, LayerOrderGathersAsMuchForManyMicroBatchesAsForOne) {
  for (const bool recompute : {false, true}) {
    for (const int micro_batches : {1, 2, 5}) {
      const Schedule schedule =
          with_gathers(layer_order(kBlocks, micro_batches, recompute), kGroups);
      check_schedule(schedule);
      const std::map<int, int> expected = {{0, 1}, {1, 2}, {2, 2}, {3, 1}, {4, 1}, {5, 1}};
      EXPECT_EQ(gathers_by_block(schedule), expected) << micro_batches;
    }
  }
}

TEST(Gathers, MicroBatchOrderGathersForEveryMicroBatch) {
  for (const int micro_batches : {1, 2, 5}) {
    const Schedule schedule =
        with_gathers(micro_batch_rounds(kBlocks, micro_batches, false), kGroups);
    check_schedule(schedule);
    int layers = 0;
    for (const auto& [block, gathers] : gathers_by_block(schedule)) {
      if (block == 0 || block == kBlocks - 1) {
        EXPECT_EQ(gathers, 1) << "stays";
      } else {
        layers += gathers;
      }
    }
    EXPECT_EQ(layers, kLayers + (kLayers - 2) * (2 * micro_batches - 1));
  }
}

TEST(Gathers, BlocksOfOneGatherGroupAreGatheredTogether) {
  const std::vector<int> gather_groups = {1, 1, 1, 0, 0, 0};
  const Schedule schedule = with_gathers(layer_order(kBlocks, 2, false), gather_groups);
  check_schedule(schedule);
  EXPECT_EQ(gathers_by_block(schedule),
            (std::map<int, int>{{0, 1}, {1, 0}, {2, 0}, {3, 1}, {4, 0}, {5, 0}}));
}

TEST(Gathers, GathersDoNotSplitGraphSegments) {
  const Schedule gathering = with_gathers(micro_batch_rounds(kBlocks, 3, false), kGroups);
  for (size_t i = 1; i < gathering.tasks.size(); ++i) {
    EXPECT_LE(gathering.tasks[i - 1].micro_batch, gathering.tasks[i].micro_batch);
  }
}

TEST(Gathers, MissingWeightsAreNoticed) {
  const Schedule whole = with_gathers(layer_order(kBlocks, 2, false), kGroups);
  for (size_t i = 0; i < whole.tasks.size(); ++i) {
    if (whole.tasks[i].kind != kGather) continue;
    Schedule lacks = whole;
    lacks.tasks.erase(lacks.tasks.begin() + static_cast<int64_t>(i));
    EXPECT_THROW(check_schedule(lacks), Error) << "without task " << i;
  }
  Schedule twice = whole;
  twice.tasks.insert(twice.tasks.begin(), twice.tasks.front());
  EXPECT_THROW(check_schedule(twice), Error);
  Schedule unasked = layer_order(kBlocks, 2, false);
  unasked.tasks.insert(unasked.tasks.begin(), {kGather, 0, 0});
  EXPECT_THROW(check_schedule(unasked), Error);
}

// In rounds, a micro-batch's gradients overwrite those of the one before.
TEST(MicroBatchRounds, GradientsAreNotOverwrittenBeforeTheirReduction) {
  const Schedule rounds = micro_batch_rounds(kBlocks, 3, false);
  check_schedule(rounds);
  int ready = 0;
  for (size_t i = 0; i < rounds.tasks.size(); ++i) {
    if (rounds.tasks[i].kind != kReady) continue;
    ++ready;
    Schedule lacks = rounds;
    lacks.tasks.erase(lacks.tasks.begin() + static_cast<int64_t>(i));
    EXPECT_THROW(check_schedule(lacks), Error) << "without task " << i;
  }
  EXPECT_EQ(ready, 3 * kBlocks);
  Schedule other = rounds;
  other.rounds = 2;
  EXPECT_THROW(check_schedule(other), Error);
}

}  // namespace
}  // namespace strata::training
