#include "training/schedules/ouroboros.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "tests/support/error_of.h"
#include "tests/support/matchers.h"
#include "tests/training/schedules/rank_simulation.h"

namespace strata::training {
namespace {

using bert::Pipeline;
using bert::Stage;
using testing_support::error_of;
using enum Task::Kind;

Stage stage_of(int rank, int modules) { return {rank, modules - 1, Pipeline::kRing}; }

std::vector<Schedule> all_ranks(int modules, int layers) {
  std::vector<Schedule> schedules;
  for (int rank = 0; rank + 1 < modules; ++rank) {
    schedules.push_back(ouroboros(stage_of(rank, modules), layers + 2));
  }
  return schedules;
}

TEST(Ring, DealsLayersToModulesOfWhichStageZeroHasTwo) {
  const auto modules_of = [](int modules, int layers) {
    std::vector<int> found;
    for (int block = 0; block < layers + 2; ++block) {
      const Stage stage = stage_of(0, modules);
      found.push_back(stage.module_of_block(block, layers + 2));
      EXPECT_EQ(stage.of_block(block, layers + 2), found.back() % (modules - 1));
    }
    return found;
  };
  EXPECT_EQ(modules_of(3, 6), (std::vector<int>{0, 0, 0, 1, 1, 2, 2, 2}));
  EXPECT_EQ(modules_of(3, 4), (std::vector<int>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(modules_of(3, 5), (std::vector<int>{0, 0, 1, 1, 2, 2, 2}));
  EXPECT_EQ(modules_of(4, 6), (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(modules_of(2, 2), (std::vector<int>{0, 0, 1, 1}));
  EXPECT_FALSE(stage_of(0, 4).deals(3));
}

// Each module has a layer; consecutive messages of a step follow each other.
TEST(Ouroboros, IsTheOrderOfThePaper) {
  EXPECT_EQ(ouroboros(stage_of(0, 3), 5).tasks, (std::vector<Task>{{kForward, 0},
                                                                   {kForward, 1},
                                                                   {kSendOutput, 1},
                                                                   {kReceiveInput, 3},
                                                                   {kForward, 3},
                                                                   {kForward, 4},
                                                                   {kReceiveGradient, 1},  //
                                                                   {kBackward, 4},
                                                                   {kReady, 4},  //
                                                                   {kBackward, 3},
                                                                   {kSendGradient, 3},
                                                                   {kReady, 3},  //
                                                                   {kBackward, 1},
                                                                   {kStash, 1},
                                                                   {kReady, 1},  //
                                                                   {kBackward, 0},
                                                                   {kStash, 0},
                                                                   {kReady, 0},  //
                                                                   {kUpdate, 0}}));
  const Schedule second = ouroboros(stage_of(1, 3), 5);
  EXPECT_EQ(second.tasks, (std::vector<Task>{{kReceiveInput, 2},
                                             {kForward, 2},
                                             {kSendOutput, 2},
                                             {kReceiveGradient, 2},
                                             {kBackward, 2},
                                             {kStash, 2},
                                             {kSendGradient, 2},
                                             {kReady, 2},
                                             {kUpdate, 0}}));
  EXPECT_EQ(second.delays, (std::vector<int>{2, 2, 1, 0, 0}));
  EXPECT_EQ(second.in_flight, 2);
}

// A module's forward takes one unit of time and its backward two, evenly divided among its layers.
double module_time(const Schedule& schedule, const Task& task) {
  double layers = 0;
  for (int layer = 1; layer + 1 < schedule.blocks; ++layer) {
    layers += schedule.stage.module_of_block(layer, schedule.blocks) ==
              schedule.stage.module_of_block(task.block, schedule.blocks);
  }
  return (task.kind == kForward ? 1.0 : 2.0) / layers;
}

// Modules, layers.
class OuroborosSchedules : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  int modules() const { return std::get<0>(GetParam()); }
  int layers() const { return std::get<1>(GetParam()); }
  std::vector<Schedule> schedules_ = all_ranks(modules(), layers());
};
INSTANTIATE_TEST_SUITE_P(Shapes, OuroborosSchedules,
                         testing::Values(std::tuple{2, 2}, std::tuple{2, 3}, std::tuple{3, 3},
                                         std::tuple{3, 4}, std::tuple{3, 5}, std::tuple{3, 6},
                                         std::tuple{4, 4}, std::tuple{4, 6}, std::tuple{4, 8},
                                         std::tuple{5, 12}, std::tuple{6, 24}),
                         [](const auto& test) {
                           return fmt::format("{}_modules_{}_layers", std::get<0>(test.param),
                                              std::get<1>(test.param));
                         });

TEST_P(OuroborosSchedules, RunsWithoutDeadlock) {
  for (const Schedule& schedule : schedules_) EXPECT_NO_THROW(check_schedule(schedule));
  for (const Travel travel : {Travel::kFreely, Travel::kInTurn}) {
    EXPECT_TRUE(RankSimulation(schedules_, 12, module_time, travel).run().has_value());
  }
  for (int rank = 0; rank + 1 < modules(); ++rank) {
    const Schedule warm_up = undelayed(stage_of(rank, modules()), layers() + 2);
    EXPECT_NO_THROW(check_schedule(warm_up));
    EXPECT_FALSE(warm_up.recomputes);
  }
}

// Both sides use the same order and the same step, so that messages need no address.
TEST_P(OuroborosSchedules, MessagesAreReceivedInTheOrderInWhichTheyAreSent) {
  std::map<std::pair<int, int>, std::vector<std::pair<int, Message>>> sent, received;
  for (const Schedule& schedule : schedules_) {
    const int rank = schedule.stage.index;
    for (const auto& [task, now, of] : walk(schedule, 9)) {
      const int peer = peer_of(schedule, task);
      EXPECT_EQ(peer >= 0, sends(task) || receives(task));
      if (sends(task)) sent[{rank, peer}].push_back({now, message_of(task, of)});
      if (receives(task)) received[{peer, rank}].push_back({now, message_of(task, of)});
    }
  }
  EXPECT_EQ(sent, received);
  size_t messages = 0, expected = 0;
  for (const auto& [pair, list] : sent) messages += list.size();
  // Each border has an output per step, and a gradient when the next module runs backward.
  for (int module = 1; module < modules() && modules() > 2; ++module) {
    expected += static_cast<size_t>(9 + 9 - (modules() - 1 - module));
  }
  EXPECT_EQ(messages, expected);
}

// Module k runs a micro-batch's backward K - k steps later. So K - k + 1 sets of activations are in
// use, they can be used in turn, and every backward finds its forward.
TEST_P(OuroborosSchedules, TheDelayDecidesTheMicroBatchesInFlight) {
  constexpr int kSteps = 11;
  for (const Schedule& schedule : schedules_) {
    int most_of_rank = 0;
    for (int block = 0; block < schedule.blocks; ++block) {
      if (!schedule.stage.has_block(block, schedule.blocks)) continue;
      const int module = schedule.stage.module_of_block(block, schedule.blocks);
      const int sets = modules() - module;  // K - k + 1, with modules counted from 0
      std::map<int, int> in_use;            // set -> step of the micro-batch
      size_t most = 0;
      int backwards = 0, stashed = 0;
      for (const auto& [task, now, of] : walk(schedule, kSteps)) {
        if (task.block != block) continue;
        if (task.kind == kForward) {
          EXPECT_EQ(of, now);
          EXPECT_TRUE(in_use.try_emplace(of % sets, of).second) << "overwrites what is needed";
          most = std::max(most, in_use.size());
        }
        if (task.kind == kBackward) {
          EXPECT_EQ(of, now - (sets - 1));
          const auto set = in_use.find(of % sets);
          ASSERT_NE(set, in_use.end());
          EXPECT_EQ(set->second, of);
          in_use.erase(set);
          ++backwards;
        }
        stashed += task.kind == kStash;
      }
      EXPECT_EQ(most, static_cast<size_t>(sets));
      EXPECT_EQ(backwards, kSteps - (sets - 1)) << "the first K - k steps skip module k";
      EXPECT_EQ(stashed, sets == 1 ? 0 : kSteps);
      most_of_rank = std::max(most_of_rank, sets);
    }
    EXPECT_EQ(schedule.in_flight, most_of_rank);
  }
}

// Yang et al.: sum F + max over ranks of sum B, compared with sum F + sum B; rank 0 has two
// modules.
TEST_P(OuroborosSchedules, TakesAsLongAsThePaperSays) {
  constexpr int kSteps = 12;
  for (const Travel travel : {Travel::kFreely, Travel::kInTurn}) {
    const auto updates = RankSimulation(schedules_, kSteps, module_time, travel).run();
    ASSERT_TRUE(updates.has_value());
    const double step = updates->at(kSteps - 1) - updates->at(kSteps - 2);
    const double forward = 1, backward = 2;
    EXPECT_NEAR(step, modules() * forward + 2 * backward, 1e-9);
    if (modules() == 3) {
      EXPECT_NEAR(step / (3 * (forward + backward)), 0.78, 0.005);
    }
  }
}

TEST(Ouroboros, ImpossibleSchedulesAreRefused) {
  const Schedule right = ouroboros(stage_of(1, 3), 5);
  const auto error_without = [&](const Task& task) {
    Schedule wrong = right;
    EXPECT_EQ(std::erase(wrong.tasks, task), 1u);
    return error_of([&] { check_schedule(wrong); });
  };
  EXPECT_THAT(error_without({kStash, 2}), HasSubstr("its weights have not been stashed"));
  EXPECT_THAT(error_without({kReceiveGradient, 2}),
              HasSubstr("the next step reads was never received"));
  EXPECT_THAT(error_without({kReceiveInput, 2}), HasSubstr("its input is not received"));
  EXPECT_THAT(error_without({kSendOutput, 2}), HasSubstr("was never sent"));
  const auto error_with = [&](const auto& change) {
    Schedule wrong = right;
    change(wrong);
    return error_of([&] { check_schedule(wrong); });
  };
  EXPECT_THAT(error_with([](Schedule& s) { std::swap(s.tasks[4], s.tasks[5]); }),
              HasSubstr("backward has not run yet"));
  EXPECT_THAT(error_with([](Schedule& s) { s.delays.pop_back(); }),
              HasSubstr("has delays for 4 blocks instead of 5"));
  EXPECT_THAT(error_with([](Schedule& s) { s.in_flight = 1; }),
              HasSubstr("has a delay of 1 steps"));
  EXPECT_THAT(error_with([](Schedule& s) { s.recomputes = true; }), HasSubstr("kept activations"));
  EXPECT_THAT(error_of([] { check_schedule(ouroboros(stage_of(0, 4), 5)); }),
              HasSubstr("3 layers cannot be divided evenly among 3 stages"));
  Schedule undelayed_stash = undelayed(stage_of(1, 3), 5);
  undelayed_stash.tasks.insert(undelayed_stash.tasks.end() - 2, Task{kStash, 2});
  EXPECT_THAT(error_of([&] { check_schedule(undelayed_stash); }), HasSubstr("is not delayed"));
}

}  // namespace
}  // namespace strata::training
