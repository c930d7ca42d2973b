#include "training/schedules/step_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/error.h"
#include "bert/config.h"
#include "training/schedules/layer_order.h"
#include "training/schedules/micro_batch_order.h"
#include "training/schedules/ouroboros.h"

namespace strata::training {
namespace {

using comm::Lane;
using comm::Operation;
using enum Task::Kind;

// Ten gradients per block, in the order of backward.
StepPlan plan_of(const Schedule& schedule) {
  StepPlan plan{.schedule = schedule};
  for (int block = 0; block < schedule.blocks; ++block) {
    const int64_t begin = 10 * (schedule.blocks - 1 - block);
    plan.names.push_back("block_" + std::to_string(block));
    plan.gradients.push_back({begin, begin + 10});
    plan.completes.push_back({{begin, begin + 10}});
    plan.halves.push_back({begin, begin});
  }
  return plan;
}

comm::BucketPlan buckets_of(std::vector<Range> buckets, comm::ClipMode clip, int ranks = 2) {
  const int64_t size = std::ranges::max(buckets, {}, &Range::end).end;
  return {.buckets = std::move(buckets),
          .runs = {{{0, size}, 0}},
          .rule = &comm::clip_rule(clip),
          .ranks = ranks};
}
comm::BucketPlan a_bucket_a_block(int blocks, comm::ClipMode clip, int ranks = 2) {
  std::vector<Range> buckets;
  for (int64_t block = 0; block < blocks; ++block) buckets.push_back({10 * block, 10 * block + 10});
  return buckets_of(buckets, clip, ranks);
}

std::vector<int> places_of(const comm::OperationList& list, Operation::Kind kind) {
  std::vector<int> places;
  for (int place = 0; place < list.size(); ++place) {
    if (list[place].kind == kind) places.push_back(place);
  }
  return places;
}
bool comes_after(const comm::OperationList& list, int place, int before) {
  return std::ranges::any_of(list[place].after, [&](int direct) {
    return direct == before || comes_after(list, direct, before);
  });
}

TEST(GraphSegments, AreConsecutiveOperationsOfOneMicroBatch) {
  const comm::BucketPlan one = buckets_of({{0, 10}}, comm::ClipMode::kNone, 1);
  const StepList turns = make_step_list(plan_of(micro_batch_order(3, 2)),
                                        buckets_of({{0, 30}}, comm::ClipMode::kNone, 1));
  ASSERT_EQ(turns.segments.size(), 2u);
  EXPECT_EQ(turns.segments[0].first, 0);
  EXPECT_EQ(turns.segments[0].end, 6);
  EXPECT_EQ(turns.segments[1].end, turns.operations.size());
  EXPECT_TRUE(turns.segments[0].begins);
  EXPECT_TRUE(turns.segments[1].begins);
  const Schedule woven{.name = "woven",
                       .blocks = 1,
                       .micro_batches = 2,
                       .in_flight = 2,
                       .tasks = {{kForward, 0, 0},
                                 {kForward, 0, 1},
                                 {kBackward, 0, 0},
                                 {kBackward, 0, 1},
                                 {kReady, 0, 1},
                                 {kUpdate, 0, 1}}};
  const auto parts = make_step_list(plan_of(woven), one).segments;
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_TRUE(parts[1].begins);
  EXPECT_FALSE(parts[2].begins);
  EXPECT_NO_THROW(check_schedule(woven));
}

TEST(StepList, TakesABucketFromBackwardToItsUpdate) {
  const StepList step = make_step_list(plan_of(micro_batch_order(2, 1)),
                                       a_bucket_a_block(2, comm::ClipMode::kBucketBeforeAllReduce));
  using Row = std::tuple<Lane, Operation::Kind, int, std::vector<int>>;
  std::vector<Row> rows;
  for (const Operation& operation : step.operations.operations()) {
    rows.emplace_back(operation.lane, operation.kind, operation.object, operation.after);
  }
  EXPECT_EQ(rows, (std::vector<Row>{{Lane::kCompute, kForward, 0, {}},
                                    {Lane::kCompute, kForward, 1, {0}},
                                    {Lane::kCompute, kBackward, 1, {1}},
                                    {Lane::kCompute, kReady, 1, {2}},
                                    {Lane::kArithmetic, Operation::Kind::kNorm, 0, {3}},
                                    {Lane::kArithmetic, Operation::Kind::kClip, 0, {3, 4}},
                                    {Lane::kCollectives, Operation::Kind::kReduce, 0, {5}},
                                    {Lane::kCompute, kBackward, 0, {2}},
                                    {Lane::kCompute, kReady, 0, {7}},
                                    {Lane::kArithmetic, Operation::Kind::kNorm, 1, {8}},
                                    {Lane::kArithmetic, Operation::Kind::kClip, 1, {8, 9}},
                                    {Lane::kCollectives, Operation::Kind::kReduce, 1, {10}},
                                    {Lane::kCompute, Operation::Kind::kEndBackward, -1, {8}},
                                    {Lane::kArithmetic, Operation::Kind::kCastBack, 0, {6}},
                                    {Lane::kArithmetic, Operation::Kind::kCastBack, 1, {11}},
                                    {Lane::kArithmetic, kUpdate, 0, {12, 13}},
                                    {Lane::kArithmetic, kUpdate, 1, {12, 14}}}));
}

// The norm of the sums is accumulated in bucket order. Without such a norm, order is free.
TEST(StepList, CastsBackInBucketOrderOnlyForANormOfTheSums) {
  for (const auto clip : {comm::ClipMode::kAfterAllReduce, comm::ClipMode::kNone}) {
    const StepList step =
        make_step_list(plan_of(micro_batch_order(3, 1)), a_bucket_a_block(3, clip));
    const std::vector<int> places = places_of(step.operations, Operation::Kind::kCastBack);
    ASSERT_EQ(places.size(), 3u);
    for (size_t i = 1; i < places.size(); ++i) {
      EXPECT_EQ(comes_after(step.operations, places[i], places[i - 1]),
                clip == comm::ClipMode::kAfterAllReduce);
    }
  }
}

TEST(StepList, ASingleRankExchangesNothing) {
  for (const auto clip :
       {comm::ClipMode::kNone, comm::ClipMode::kAfterAllReduce, comm::ClipMode::kBeforeAllReduce,
        comm::ClipMode::kBucketBeforeAllReduce}) {
    const StepList step =
        make_step_list(plan_of(layer_order(3, 2, true)), a_bucket_a_block(3, clip, 1));
    EXPECT_TRUE(step.operations.lane(Lane::kCollectives).empty());
    for (const Operation& operation : step.operations.operations()) {
      EXPECT_TRUE(operation.may_be_captured) << name_of(operation.kind);
    }
  }
}

TEST(StepList, UpdatesComeAfterTheNormThatClipsThem) {
  const StepList step = make_step_list(plan_of(micro_batch_order(3, 1)),
                                       a_bucket_a_block(3, comm::ClipMode::kAfterAllReduce));
  const auto norms = places_of(step.operations, kReduceNorm);
  ASSERT_EQ(norms.size(), 1u);
  for (const int reduced : places_of(step.operations, kReduce)) {
    EXPECT_TRUE(comes_after(step.operations, norms[0], reduced));
  }
  for (const int update : places_of(step.operations, kUpdate)) {
    EXPECT_TRUE(comes_after(step.operations, update, norms[0]));
  }
}

TEST(StepList, ReductionsComeAfterTheNormOfAllGradients) {
  const StepList step = make_step_list(plan_of(micro_batch_order(3, 1)),
                                       a_bucket_a_block(3, comm::ClipMode::kBeforeAllReduce));
  const int last_norm = places_of(step.operations, kNorm).back();
  for (const int reduced : places_of(step.operations, kReduce)) {
    EXPECT_TRUE(comes_after(step.operations, reduced, last_norm));
  }
}

// A bucket's converted copy uses the memory of the third bucket before it.
TEST(StepList, ConvertedBucketsWaitForMemory) {
  comm::BucketPlan buckets = a_bucket_a_block(6, comm::ClipMode::kNone);
  buckets.converts = true;
  for (const bool on_host : {true, false}) {
    buckets.on_host = on_host;
    const StepList step = make_step_list(plan_of(micro_batch_order(6, 1)), buckets);
    const auto clips = places_of(step.operations, kClip),
               emptied = places_of(step.operations, kCastBack);
    const size_t memories = on_host ? 3 : 1;
    for (size_t bucket = memories; bucket < clips.size(); ++bucket) {
      EXPECT_TRUE(comes_after(step.operations, clips[bucket], emptied[bucket - memories]));
    }
  }
}

// The first and the third block's gradients share memory.
TEST(StepList, SharedMemoryIsWrittenAfterItsReduction) {
  comm::BucketPlan buckets = a_bucket_a_block(3, comm::ClipMode::kNone);
  buckets.keeps_shards = true;
  buckets.runs = {{{0, 10}, 0}, {{10, 20}, 10}, {{20, 30}, 0}};
  StepPlan plan = plan_of(micro_batch_order(3, 1));
  plan.shares_gradients = true;
  // The heads' forward comes first and would write the word embeddings' gradient.
  EXPECT_THROW(make_step_list(plan, buckets), Error);
  buckets.runs = {{{0, 10}, 0}, {{10, 20}, 0}, {{20, 30}, 10}};
  const comm::OperationList list = make_step_list(plan, buckets).operations;
  EXPECT_TRUE(comes_after(list, places_of(list, kBackward)[1], places_of(list, kCastBack)[0]));
  EXPECT_EQ(list[places_of(list, kBackward)[2]].after.size(), 1u) << "only the backward before";
}

TEST(StepList, TheFirstDelayedStepsLeaveOutEarlierMicroBatches) {
  const Schedule schedule = ouroboros({.count = 1, .pipeline = bert::Pipeline::kRing}, 4);
  const comm::BucketPlan buckets = a_bucket_a_block(4, comm::ClipMode::kNone, 1);
  ASSERT_EQ(most_delay(schedule), 1);
  const StepList first = make_step_list(plan_of(schedule), buckets, nullptr, nullptr, 1),
                 second = make_step_list(plan_of(schedule), buckets, nullptr, nullptr, 2);
  EXPECT_EQ(places_of(first.operations, kBackward).size(), 2u);
  EXPECT_EQ(places_of(first.operations, kFreeze).size(), 2u);
  EXPECT_EQ(first.frozen, (std::vector<int>{1, 0}));
  EXPECT_EQ(places_of(second.operations, kBackward).size(), 4u);
  EXPECT_TRUE(second.frozen.empty());
  EXPECT_EQ(places_of(first.operations, kUpdate).size(), 4u);
}

TEST(StepList, FindsTheBlockThatCompletesABucket) {
  const bert::ParameterLayout layout(bert::load_bert_config("tiny"));
  const auto blocks = static_cast<int>(layout.groups.size());
  const std::vector<int64_t>& ends = layout.boundaries;
  // The first bucket holds the heads and half of the last layer.
  const std::vector<Range> buckets = {
      {0, (ends[1] + ends[2]) / 2}, {(ends[1] + ends[2]) / 2, ends[2]}, {ends[2], layout.size}};
  using Ready = std::tuple<std::string, Operation::Kind>;
  const auto ready_with = [&](const StepPlan& plan, const std::vector<Range>& ranges) {
    const auto list =
        make_step_list(plan, buckets_of(ranges, comm::ClipMode::kBucketBeforeAllReduce)).operations;
    std::vector<Ready> ready;
    for (const int place : ready_operations(list, static_cast<int>(std::ssize(ranges)))) {
      const Operation& operation = list[place];
      EXPECT_EQ(operation.round, 1) << "the last micro-batch";
      ready.emplace_back(object_of(operation, plan), operation.kind);
    }
    return ready;
  };
  EXPECT_EQ(ready_with(make_step_plan(micro_batch_order(blocks, 2), layout), buckets),
            (std::vector<Ready>{{"layer_1", kReady}, {"layer_1", kReady}, {"embeddings", kReady}}));
  EXPECT_THROW(make_step_plan(micro_batch_order(blocks + 1, 1), layout), Error);

  std::vector<Range> halves;
  const std::vector<int64_t> pauses = layout.boundaries_with_halves();
  ASSERT_EQ(pauses.size(), layout.boundaries.size() + layout.layers.size());
  for (size_t i = 0; i + 1 < pauses.size(); ++i) halves.push_back({pauses[i], pauses[i + 1]});
  EXPECT_EQ(ready_with(make_step_plan(micro_batch_order(blocks, 2), layout, false, true), halves),
            (std::vector<Ready>{{"heads", kReady},
                                {"layer_1", kBackwardHalf},
                                {"layer_1", kReady},
                                {"layer_0", kBackwardHalf},
                                {"layer_0", kReady},
                                {"embeddings", kReady}}));
  // The feed-forward matrices are the first in a layer.
  for (const bert::LayerPlace& layer : layout.layers) {
    const int64_t matrices = layer.output.weight.size() + layer.intermediate.weight.size();
    EXPECT_EQ(layer.halfway(), layer.output.weight.offset + matrices);
    EXPECT_GT(layer.output.bias.offset, layer.halfway());
  }
}

// The words, at the beginning of the embeddings, are ready with the heads; their sparse rows come
// last.
TEST(StepList, TiedRowsAreReducedAfterAllBuckets) {
  const bert::ParameterLayout layout(bert::load_bert_config("tiny"));
  const auto blocks = static_cast<int>(layout.groups.size());
  const Range words = layout.words();
  const int64_t cut = layout.boundaries[2];
  ASSERT_EQ(words.begin, layout.boundaries[layout.boundaries.size() - 2]);
  comm::BucketPlan buckets = buckets_of(
      {words, {0, cut}, {cut, words.begin}, {words.end, layout.size}}, comm::ClipMode::kNone);
  buckets.table_buckets = 1;
  buckets.has_tied_rows = true;
  const StepPlan plan = make_step_plan(micro_batch_order(blocks, 2), layout, true);
  const comm::OperationList list = make_step_list(plan, buckets).operations;
  std::vector<std::string> ready;
  for (const int place : ready_operations(list, 4)) ready.push_back(object_of(list[place], plan));
  EXPECT_EQ(ready, (std::vector<std::string>{"heads", "layer_1", "layer_0", "embeddings"}));
  std::vector<Operation::Kind> collectives;
  for (const int place : list.lane(Lane::kCollectives)) collectives.push_back(list[place].kind);
  EXPECT_EQ(collectives, (std::vector<Operation::Kind>{kReduceTouched, kReduce, kReduce, kReduce,
                                                       kReduce, kReduceRows}));
  std::vector<int> updated;
  for (const int place : places_of(list, kUpdate)) updated.push_back(list[place].object);
  EXPECT_EQ(updated, (std::vector<int>{1, 2, 3, 0})) << "the table's come last";
}

TEST(OperationList, OperationsDependOnlyOnEarlierOperations) {
  comm::OperationList list;
  EXPECT_EQ(list.add({.kind = kForward}), 0);
  EXPECT_THROW(list.add({.kind = kBackward, .after = {1}}), Error);
}

}  // namespace
}  // namespace strata::training
