#include "training/schedules/pipeline.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "tests/support/error_of.h"
#include "training/schedules/explanation.h"
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

// What crosses from stage to stage: a block's output, or the gradient of it, of a micro-batch.
struct Message {
  bool gradient;
  int block, micro_batch;

  auto operator<=>(const Message&) const = default;
};
Message message_of(const Task& task) {
  const bool gradient = task.kind == kSendGradient || task.kind == kReceiveGradient;
  const bool before = task.kind == kReceiveInput || task.kind == kSendGradient;
  return {gradient, task.block - (before ? 1 : 0), task.micro_batch};
}
bool sends(const Task& task) { return task.kind == kSendOutput || task.kind == kSendGradient; }
bool receives(const Task& task) {
  return task.kind == kReceiveInput || task.kind == kReceiveGradient;
}

// What a message waits for: only for both sides to be there, or also for all that its sender has
// sent and its receiver received before, as where each has one stream for these.
enum class Travel : uint8_t { kFreely, kInTurn };

// All stages at once, each with its own clock. Forward and backward of a layer take one unit, a
// message no time.
class Simulation {
 public:
  explicit Simulation(const std::vector<Schedule>& schedules, Travel travel = Travel::kFreely)
      : schedules_(schedules), travel_(travel), at_(schedules.size()), clocks_(schedules.size()) {}

  // How long the slowest stage takes; none: they wait for each other for ever.
  std::optional<int> run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t stage = 0; stage < schedules_.size(); ++stage) {
        while (at_[stage] < schedules_[stage].tasks.size() && step(stage)) moved = true;
      }
    }
    for (size_t stage = 0; stage < schedules_.size(); ++stage) {
      if (at_[stage] < schedules_[stage].tasks.size()) return std::nullopt;
    }
    return *std::ranges::max_element(clocks_);
  }

 private:
  struct Ends {
    std::optional<int> sent, received;
    std::optional<Message> sent_before, received_before;  // by the same stages
  };

  // When the message is there; none: that is not known yet.
  std::optional<int> arrival(const Message& message) {
    if (const auto known = arrivals_.find(message); known != arrivals_.end()) return known->second;
    const Ends& ends = messages_[message];
    if (!ends.sent || !ends.received) return std::nullopt;
    int time = std::max(*ends.sent, *ends.received);
    for (const auto& before : {ends.sent_before, ends.received_before}) {
      if (!before || travel_ == Travel::kFreely) continue;
      const std::optional<int> earlier = arrival(*before);
      if (!earlier) return std::nullopt;
      time = std::max(time, *earlier);
    }
    return arrivals_[message] = time;
  }
  // Waits until the message is there; false: that is not known yet.
  bool wait_for(size_t stage, const Message& message) {
    const std::optional<int> time = arrival(message);
    if (!time) return false;
    clocks_[stage] = std::max(clocks_[stage], *time);
    return true;
  }

  bool step(size_t stage) {
    const Schedule& schedule = schedules_[stage];
    const Task& task = schedule.tasks[at_[stage]];
    const bool is_layer = task.block > 0 && task.block + 1 < schedule.blocks;
    const auto own = [&](int block) { return schedule.stage.has_block(block, schedule.blocks); };
    if (task.kind == kForward && task.block > 0 && !own(task.block - 1)) {
      if (!wait_for(stage, {false, task.block - 1, task.micro_batch})) return false;
    }
    if (task.kind == kBackward && task.block + 1 < schedule.blocks && !own(task.block + 1)) {
      if (!wait_for(stage, {true, task.block, task.micro_batch})) return false;
    }
    // The place of what is received must be free of what was sent, and in the end so must all.
    if (task.kind == kReceiveGradient || task.kind == kUpdate) {
      for (size_t i = 0; i < at_[stage]; ++i) {
        const Task& before = schedule.tasks[i];
        if (!sends(before)) continue;
        const bool same_place =
            before.kind == kSendGradient && before.micro_batch == task.micro_batch;
        if ((task.kind == kUpdate || same_place) && !wait_for(stage, message_of(before)))
          return false;
      }
    }
    if (sends(task)) {
      Ends& ends = messages_[message_of(task)];
      ends.sent = clocks_[stage];
      ends.sent_before = std::exchange(last_sent_[stage], message_of(task));
    }
    if (receives(task)) {
      Ends& ends = messages_[message_of(task)];
      ends.received = clocks_[stage];
      ends.received_before = std::exchange(last_received_[stage], message_of(task));
    }
    if (is_layer && (task.kind == kForward || task.kind == kBackward)) ++clocks_[stage];
    ++at_[stage];
    return true;
  }

  const std::vector<Schedule>& schedules_;
  Travel travel_;
  std::vector<size_t> at_;
  std::vector<int> clocks_;
  std::map<Message, Ends> messages_;
  std::map<Message, int> arrivals_;
  std::map<size_t, std::optional<Message>> last_sent_, last_received_;
};

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
      {kReceiveInput, 2, 0},    {kReceiveInput, 2, 1},                         // ahead
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

TEST(Pipeline, OfOneStageIsALayerOrder) {
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
// Stages, layers of each, micro-batches.
INSTANTIATE_TEST_SUITE_P(Shapes, Pipelines,
                         testing::Combine(testing::Values(Pipeline::kContiguous,
                                                          Pipeline::kModular),
                                          testing::Values(2, 3, 4), testing::Values(1, 2, 3),
                                          testing::Values(2, 3, 4, 8)),
                         name_of_shape);

TEST_P(Pipelines, CanBeWalkedWithoutDeadlock) {
  const auto [kind, stages, layers, micro_batches] = GetParam();
  for (const bool recompute : {false, true}) {
    const auto schedules = all_stages(kind, stages, stages * layers, micro_batches, recompute);
    for (const Schedule& schedule : schedules) EXPECT_NO_THROW(check_schedule(schedule));
    for (const Travel travel : {Travel::kFreely, Travel::kInTurn}) {
      EXPECT_TRUE(Simulation(schedules, travel).run().has_value());
    }
  }
}

// In the same order on both sides, so that messages need no address.
TEST_P(Pipelines, EveryMessageThatIsSentIsReceivedInThatOrder) {
  const auto [kind, stages, layers, micro_batches] = GetParam();
  const auto schedules = all_stages(kind, stages, stages * layers, micro_batches);
  std::map<std::pair<int, int>, std::vector<Message>> sent, received;  // by sender and receiver
  for (const Schedule& schedule : schedules) {
    const int stage = schedule.stage.index;
    for (const Task& task : schedule.tasks) {
      const int peer = peer_of(schedule, task);
      EXPECT_EQ(peer >= 0, sends(task) || receives(task));
      if (sends(task)) sent[{stage, peer}].push_back(message_of(task));
      if (receives(task)) received[{peer, stage}].push_back(message_of(task));
    }
  }
  EXPECT_EQ(sent, received);
  // Forward and back, layers * stages - 1 borders modular, stages - 1 contiguous; and to the heads.
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
    const auto time = Simulation(schedules, travel).run();
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

TEST(Pipeline, OfSixLayersOnTwoStagesWaitsAThirdAsLongWhereItIsModular) {
  const auto bubble = [](Pipeline kind, int micro_batches) {
    const int work = 2 * 3 * micro_batches;
    return 100.0 * (*Simulation(all_stages(kind, 2, 6, micro_batches)).run() - work) / work;
  };
  for (const auto& [micro_batches, contiguous, modular] :
       {std::tuple{2, 50.0, 16.7}, {4, 25.0, 8.3}, {8, 12.5, 4.2}}) {
    EXPECT_NEAR(bubble(Pipeline::kContiguous, micro_batches), contiguous, 0.05);
    EXPECT_NEAR(bubble(Pipeline::kModular, micro_batches), modular, 0.05);
  }
}

TEST(Pipeline, WhatCannotBeWalkedIsRefused) {
  const Schedule right = pipeline({1, 2, Pipeline::kModular}, 6, 2, false);
  const auto error_without = [&](const Task& task) {
    Schedule wrong = right;
    EXPECT_EQ(std::erase(wrong.tasks, task), 1u);
    return error_of([&] { check_schedule(wrong); });
  };
  EXPECT_NE(error_without({kReceiveInput, 2, 1}).find("its input is not received"),
            std::string::npos);
  EXPECT_NE(error_without({kReceiveGradient, 4, 1}).find("gradient is not received"),
            std::string::npos);
  EXPECT_NE(error_without({kSendOutput, 2, 0}).find("what another stage reads was never sent"),
            std::string::npos);
  EXPECT_NE(error_without({kSendGradient, 2, 1}).find("what another stage reads was never sent"),
            std::string::npos);
  EXPECT_NE(error_without({kSendGradient, 4, 0}).find("in its place has not been sent"),
            std::string::npos);
  const auto error_with = [&](const Task& task, size_t at = 0) {
    Schedule wrong = right;
    wrong.tasks.insert(wrong.tasks.begin() + static_cast<int64_t>(at), task);
    return error_of([&] { check_schedule(wrong); });
  };
  EXPECT_NE(error_with({kForward, 1, 0}).find("another stage has this block"), std::string::npos);
  EXPECT_NE(error_with({kSendOutput, 2, 0}).find("forward has not been there"), std::string::npos);
  EXPECT_NE(error_with({kSendGradient, 2, 0}).find("backward has not been there"),
            std::string::npos);
  EXPECT_NE(error_with({kReceiveInput, 2, 0}).find("it was received before"), std::string::npos);
  EXPECT_NE(error_of([] {
              check_schedule(pipeline({0, 2, Pipeline::kModular}, 5, 2, false));
            }).find("3 layers are not dealt to 2 stages evenly"),
            std::string::npos);
}

}  // namespace
}  // namespace strata::training
