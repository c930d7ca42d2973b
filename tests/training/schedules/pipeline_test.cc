#include "training/schedules/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "tests/support/error_of.h"
#include "tests/support/matchers.h"
#include "tests/training/schedules/rank_simulation.h"
#include "training/schedules/layer_order.h"

namespace strata::training {
namespace {

using bert::Pipeline;
using bert::Stage;
using testing_support::error_of;
using enum Task::Kind;

std::vector<Schedule> all_stages(Pipeline kind, int stages, int layers, int micro_batches,
                                 bool recompute = false) {
  std::vector<Schedule> schedules;
  for (int stage = 0; stage < stages; ++stage) {
    schedules.push_back(pipeline({stage, stages, kind}, layers + 2, micro_batches, recompute));
  }
  return schedules;
}

// Returns the time of the slowest stage if a layer's forward and backward take one unit, or nullopt
// if stages wait for each other for ever.
std::optional<int> time_of(const std::vector<Schedule>& schedules,
                           Travel travel = Travel::kFreely) {
  const auto unit = [](const Schedule&, const Task&) { return 1.0; };
  const auto updates = RankSimulation(schedules, 1, unit, travel).run();
  if (!updates) return std::nullopt;
  return static_cast<int>(updates->front());
}

TEST(Pipeline, DealsLayersToStages) {
  std::vector<int> contiguous, modular;
  for (int block = 0; block < 8; ++block) {
    contiguous.push_back(Stage{0, 2, Pipeline::kContiguous}.of_block(block, 8));
    modular.push_back(Stage{0, 2, Pipeline::kModular}.of_block(block, 8));
  }
  EXPECT_EQ(contiguous, (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 0}));
  EXPECT_EQ(modular, (std::vector<int>{0, 0, 1, 0, 1, 0, 1, 0}));
}

// Stage 1 of 2: blocks 2 and 4 of embeddings, four layers and heads.
TEST(Pipeline, TakesAllMicroBatchesThroughARunBeforeTheNext) {
  const Schedule schedule = pipeline({1, 2, Pipeline::kModular}, 6, 2, false);
  const std::vector<Task> expected = {
      {kReceiveInput, 2, 0},    {kReceiveInput, 2, 1},                         // received ahead
      {kForward, 2, 0},         {kSendOutput, 2, 0},                           //
      {kReceiveInput, 4, 0},    {kForward, 2, 1},      {kSendOutput, 2, 1},    //
      {kReceiveInput, 4, 1},    {kForward, 4, 0},      {kSendOutput, 4, 0},    //
      {kReceiveGradient, 4, 0}, {kForward, 4, 1},      {kSendOutput, 4, 1},    //
      {kReceiveGradient, 4, 1}, {kBackward, 4, 0},     {kSendGradient, 4, 0},  //
      {kReceiveGradient, 2, 0}, {kBackward, 4, 1},     {kSendGradient, 4, 1}, {kReady, 4, 1},
      {kReceiveGradient, 2, 1}, {kBackward, 2, 0},     {kSendGradient, 2, 0}, {kBackward, 2, 1},
      {kSendGradient, 2, 1},    {kReady, 2, 1},        {kUpdate, 0, 1}};
  EXPECT_EQ(schedule.tasks, expected);
  EXPECT_EQ(schedule.in_flight, 2);
}

TEST(Pipeline, WithOneStageHasTheLayerOrder) {
  for (const Pipeline kind : {Pipeline::kContiguous, Pipeline::kModular}) {
    for (const bool recompute : {false, true}) {
      const Schedule alone = pipeline({0, 1, kind}, 3, 1, recompute);
      EXPECT_EQ(alone.tasks, layer_order(3, 1, recompute).tasks);
      EXPECT_NO_THROW(check_schedule(pipeline({0, 1, kind}, 6, 4, recompute)));
    }
  }
}

class Pipelines : public testing::TestWithParam<std::tuple<Pipeline, int, int, int>> {};
std::string name_of_shape(const testing::TestParamInfo<Pipelines::ParamType>& test) {
  const auto& [kind, stages, layers, micro_batches] = test.param;
  return fmt::format("{}_{}_{}_{}", kind == Pipeline::kModular ? "modular" : "contiguous", stages,
                     layers, micro_batches);
}
// Stages, layers per stage, micro-batches.
INSTANTIATE_TEST_SUITE_P(Shapes, Pipelines,
                         testing::Combine(testing::Values(Pipeline::kContiguous,
                                                          Pipeline::kModular),
                                          testing::Values(2, 3, 4), testing::Values(1, 2, 3),
                                          testing::Values(2, 3, 4, 8)),
                         name_of_shape);

TEST_P(Pipelines, RunWithoutDeadlock) {
  const auto [kind, stages, layers, micro_batches] = GetParam();
  for (const bool recompute : {false, true}) {
    const auto schedules = all_stages(kind, stages, stages * layers, micro_batches, recompute);
    for (const Schedule& schedule : schedules) EXPECT_NO_THROW(check_schedule(schedule));
    for (const Travel travel : {Travel::kFreely, Travel::kInTurn}) {
      EXPECT_TRUE(time_of(schedules, travel).has_value());
    }
  }
}

// Both sides use the same order, so that messages need no address.
TEST_P(Pipelines, MessagesAreReceivedInTheOrderInWhichTheyAreSent) {
  const auto [kind, stages, layers, micro_batches] = GetParam();
  const auto schedules = all_stages(kind, stages, stages * layers, micro_batches);
  std::map<std::pair<int, int>, std::vector<Message>> sent, received;  // by sender and receiver
  for (const Schedule& schedule : schedules) {
    const int stage = schedule.stage.index;
    for (const Task& task : schedule.tasks) {
      const int peer = peer_of(schedule, task);
      EXPECT_EQ(peer >= 0, sends(task) || receives(task));
      if (sends(task)) sent[{stage, peer}].push_back(message_of(task, task.micro_batch));
      if (receives(task)) received[{peer, stage}].push_back(message_of(task, task.micro_batch));
    }
  }
  EXPECT_EQ(sent, received);
  // There are layers * stages - 1 (modular) or stages - 1 (contiguous) borders, and one to the
  // heads, in both directions.
  const int borders = (kind == Pipeline::kModular ? layers * stages - 1 : stages - 1) + 1;
  size_t messages = 0;
  for (const auto& [pair, list] : sent) messages += list.size();
  EXPECT_EQ(messages, static_cast<size_t>(2 * borders * micro_batches));
}

// Lamy-Poirier, arXiv 2106.02679: (P - 1) / n and (P - 1) / (n L / P) of the working time.
TEST_P(Pipelines, WaitAsLongAsThePaperSays) {
  const auto [kind, stages, layers, micro_batches] = GetParam();
  const int work = 2 * layers * micro_batches;
  const auto schedules = all_stages(kind, stages, stages * layers, micro_batches);
  for (const Travel travel : {Travel::kFreely, Travel::kInTurn}) {
    const auto time = time_of(schedules, travel);
    ASSERT_TRUE(time.has_value());
    const double bubble = static_cast<double>(*time - work) / work;
    const double ideal = kind == Pipeline::kModular ? micro_batches * layers : micro_batches;
    if (micro_batches >= stages) {
      EXPECT_DOUBLE_EQ(bubble, (stages - 1) / ideal);
    } else {
      EXPECT_GE(bubble, (stages - 1) / ideal) << "fewer micro-batches than stages";
    }
  }
}

TEST(Pipeline, ModularPipelineOfSixLayersOnTwoStagesWaitsAThirdAsLong) {
  const auto bubble = [](Pipeline kind, int micro_batches) {
    const int work = 2 * 3 * micro_batches;
    return 100.0 * (*time_of(all_stages(kind, 2, 6, micro_batches)) - work) / work;
  };
  for (const auto& [micro_batches, contiguous, modular] :
       {std::tuple{2, 50.0, 16.7}, {4, 25.0, 8.3}, {8, 12.5, 4.2}}) {
    EXPECT_NEAR(bubble(Pipeline::kContiguous, micro_batches), contiguous, 0.05);
    EXPECT_NEAR(bubble(Pipeline::kModular, micro_batches), modular, 0.05);
  }
}

TEST(Pipeline, ImpossibleSchedulesAreRefused) {
  const Schedule right = pipeline({1, 2, Pipeline::kModular}, 6, 2, false);
  const auto error_without = [&](const Task& task) {
    Schedule wrong = right;
    EXPECT_EQ(std::erase(wrong.tasks, task), 1u);
    return error_of([&] { check_schedule(wrong); });
  };
  EXPECT_THAT(error_without({kReceiveInput, 2, 1}), HasSubstr("its input is not received"));
  EXPECT_THAT(error_without({kReceiveGradient, 4, 1}), HasSubstr("gradient is not received"));
  EXPECT_THAT(error_without({kSendOutput, 2, 0}),
              HasSubstr("data that another stage reads was never sent"));
  EXPECT_THAT(error_without({kSendGradient, 2, 1}),
              HasSubstr("data that another stage reads was never sent"));
  EXPECT_THAT(error_without({kSendGradient, 4, 0}), HasSubstr("in its buffer has not been sent"));
  const auto error_with = [&](const Task& task, size_t at = 0) {
    Schedule wrong = right;
    wrong.tasks.insert(wrong.tasks.begin() + static_cast<int64_t>(at), task);
    return error_of([&] { check_schedule(wrong); });
  };
  EXPECT_THAT(error_with({kForward, 1, 0}), HasSubstr("another stage has this block"));
  EXPECT_THAT(error_with({kSendOutput, 2, 0}), HasSubstr("forward has not run yet"));
  EXPECT_THAT(error_with({kSendGradient, 2, 0}), HasSubstr("backward has not run yet"));
  EXPECT_THAT(error_with({kReceiveInput, 2, 0}), HasSubstr("it was received before"));
  EXPECT_THAT(error_of([] {
                check_schedule(pipeline({0, 2, Pipeline::kModular}, 5, 2, false));
              }),
              HasSubstr("3 layers cannot be divided evenly among 2 stages"));
}

}  // namespace
}  // namespace strata::training
