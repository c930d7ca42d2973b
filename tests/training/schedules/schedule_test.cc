#include "training/schedules/schedule.h"

#include "tests/support/error_of.h"
#include "tests/support/matchers.h"
#include "training/schedules/layer_order.h"
#include "training/schedules/micro_batch_order.h"

namespace strata::training {
namespace {

using testing_support::error_of;
using enum Task::Kind;

TEST(MicroBatchOrder, TakesEachMicroBatchThroughAllBlocksAndBack) {
  const Schedule schedule = micro_batch_order(2, 2);
  const std::vector<Task> expected = {{kForward, 0, 0},  {kForward, 1, 0}, {kBackward, 1, 0},
                                      {kBackward, 0, 0}, {kForward, 0, 1}, {kForward, 1, 1},
                                      {kBackward, 1, 1}, {kReady, 1, 1},   {kBackward, 0, 1},
                                      {kReady, 0, 1},    {kUpdate, 0, 1}};
  EXPECT_EQ(schedule.tasks, expected);
  EXPECT_EQ(schedule.in_flight, 1);
}

TEST(LayerOrder, TakesAllMicroBatchesThroughABlockBeforeTheNext) {
  const Schedule schedule = layer_order(3, 2, false);
  const std::vector<Task> expected = {
      {kForward, 0, 0},  {kForward, 0, 1},  {kForward, 1, 0},  {kForward, 1, 1},
      {kForward, 2, 0},  {kBackward, 2, 0}, {kForward, 2, 1},  {kBackward, 2, 1},
      {kReady, 2, 1},    {kBackward, 1, 0}, {kBackward, 1, 1}, {kReady, 1, 1},
      {kBackward, 0, 0}, {kBackward, 0, 1}, {kReady, 0, 1},    {kUpdate, 0, 1}};
  EXPECT_EQ(schedule.tasks, expected);
  EXPECT_EQ(schedule.in_flight, 2);
  EXPECT_EQ(layer_order(3, 1, false).in_flight, 1);
}

TEST(Schedules, PassTheCheck) {
  for (const int blocks : {1, 3, 26}) {
    for (const int micro_batches : {1, 2, 5}) {
      for (const bool recompute : {false, true}) {
        EXPECT_NO_THROW(check_schedule(micro_batch_order(blocks, micro_batches, recompute)));
        EXPECT_NO_THROW(check_schedule(layer_order(blocks, micro_batches, recompute)));
      }
    }
  }
}

// Every forward except the heads' runs again, once for every backward.
TEST(Schedules, RecomputeRightBeforeBackward) {
  for (const Schedule& schedule : {layer_order(4, 3, true), micro_batch_order(4, 3, true)}) {
    int recomputed = 0;
    for (size_t i = 0; i < schedule.tasks.size(); ++i) {
      const Task& task = schedule.tasks[i];
      if (task.kind != kRecompute) continue;
      ++recomputed;
      EXPECT_EQ(schedule.tasks[i + 1], (Task{kBackward, task.block, task.micro_batch}));
    }
    EXPECT_EQ(recomputed, 3 * 3);
  }
}

TEST(Schedules, ImpossibleSchedulesAreRefused) {
  const auto error_of_tasks = [](std::vector<Task> tasks, int in_flight = 1) {
    const Schedule schedule{.name = "wrong",
                            .blocks = 2,
                            .micro_batches = 2,
                            .in_flight = in_flight,
                            .tasks = std::move(tasks)};
    return error_of([&] { check_schedule(schedule); });
  };
  EXPECT_EQ(error_of_tasks({{kForward, 1, 0}}),
            "schedule wrong: task 0, forward of block 1, micro-batch 0: forward must run once per "
            "block, from the first block to the last");
  EXPECT_EQ(error_of_tasks({{kForward, 0, 0}, {kForward, 1, 0}, {kBackward, 0, 0}}),
            "schedule wrong: task 2, backward of block 0, micro-batch 0: backward must run once "
            "per block, from the last block to the first");
  EXPECT_EQ(error_of_tasks({{kForward, 0, 0}, {kForward, 0, 1}}),
            "schedule wrong: task 1, forward of block 0, micro-batch 1: too many micro-batches are "
            "in flight");
  EXPECT_EQ(error_of_tasks({{kForward, 0, 1}}),
            "schedule wrong: task 0, forward of block 0, micro-batch 1: the previous micro-batch "
            "has not run yet");
  std::vector<Task> tasks = micro_batch_order(2, 2).tasks;
  tasks.pop_back();
  EXPECT_EQ(error_of_tasks(tasks), "schedule wrong: it ends without an update");
  tasks.insert(tasks.begin() + 4, {kReady, 1, 0});
  EXPECT_THAT(error_of_tasks(tasks), HasSubstr("a micro-batch is missing"));
  EXPECT_THAT(error_of_tasks({{kForward, 2, 0}}), HasSubstr("there is no such block"));
  EXPECT_THAT(error_of_tasks({{kUpdate, 0, 0}}), HasSubstr("never marked ready"));
  EXPECT_THAT(error_of_tasks({{kForward, 0, 2}}), HasSubstr("no such micro-batch"));
  EXPECT_THAT(error_of_tasks({{kUpdate, 0, 1 << 20}}), HasSubstr("no such micro-batch"));
  EXPECT_THAT(error_of_tasks({{kForward, 0, 0}, {kBackward, 1, 0}}),
              HasSubstr("forward has not finished"));
  tasks = micro_batch_order(2, 2).tasks;
  tasks.push_back({kForward, 0, 0});
  EXPECT_THAT(error_of_tasks(tasks), HasSubstr("no task may follow the update"));
  tasks = micro_batch_order(2, 2).tasks;
  tasks.insert(tasks.begin() + 8, {kReady, 1, 1});
  EXPECT_THAT(error_of_tasks(tasks), HasSubstr("its gradients were marked ready before"));
  EXPECT_THROW(check_schedule({.name = "empty"}), Error);
  EXPECT_THAT(error_of_tasks({{kForward, 0, 0}, {kRecompute, 0, 0}}),
              HasSubstr("activations are kept"));
  Schedule recomputing = layer_order(2, 2, true);
  std::erase(recomputing.tasks, Task{kRecompute, 0, 1});
  EXPECT_THAT(error_of([&] { check_schedule(recomputing); }),
              HasSubstr("activations are not in memory"));
  recomputing.tasks = {{kRecompute, 0, 0}};
  EXPECT_THAT(error_of([&] { check_schedule(recomputing); }), HasSubstr("forward has not run yet"));
  const Schedule backwards_swapped{
      .name = "wrong",
      .blocks = 1,
      .micro_batches = 2,
      .in_flight = 2,
      .tasks = {{kForward, 0, 0}, {kForward, 0, 1}, {kBackward, 0, 1}}};
  EXPECT_THROW(check_schedule(backwards_swapped), Error);
}

}  // namespace
}  // namespace strata::training
