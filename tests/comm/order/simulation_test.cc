#include "comm/order/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <utility>

#include "base/error.h"

namespace strata::comm {
namespace {

using enum Operation::Kind;
using testing::DoubleEq;
using testing::HasSubstr;
using testing::Property;
using testing::Throws;

// A list with its costs, in seconds.
class Rank {
 public:
  int add(Operation::Kind kind, Lane lane, const OperationCost& cost, std::vector<int> after = {}) {
    costs_.push_back(cost);
    return list_.add({.kind = kind, .lane = lane, .after = std::move(after)});
  }
  int compute(double seconds, std::vector<int> after = {}) {
    return add(kBackward, Lane::kCompute, {seconds}, std::move(after));
  }
  int clip(double seconds, std::vector<int> after = {}) {
    return add(kClip, Lane::kArithmetic, {seconds}, std::move(after));
  }
  int reduce(double seconds, std::vector<int> after = {}) {
    return add(kReduce, Lane::kCollectives, {seconds, 0, 0}, std::move(after));
  }
  SimulatedRank simulated() const { return {&list_, costs_}; }
  const OperationList& list() const { return list_; }

 private:
  OperationList list_;
  std::vector<OperationCost> costs_;
};

SimulatedStep simulate_single_rank(const Rank& rank, SimulatedExecutor executor) {
  return simulate(std::vector{rank.simulated()}, {.executor = executor});
}

auto span_is(double begin, double end) {
  return testing::AllOf(testing::Field("begin", &SimulatedSpan::begin, DoubleEq(begin)),
                        testing::Field("end", &SimulatedSpan::end, DoubleEq(end)));
}

TEST(Simulation, ReductionsFollowBackwardOneAfterAnother) {
  Rank rank;
  int last = kNoObject;
  for (int i = 0; i < 3; ++i) {
    last = rank.compute(1, last == kNoObject ? std::vector<int>{} : std::vector{last});
    rank.reduce(2, {last});
  }
  const SimulatedStep step = simulate_single_rank(rank, SimulatedExecutor::kThreads);
  EXPECT_THAT(step.spans.front(),
              testing::ElementsAre(span_is(0, 1), span_is(1, 3), span_is(1, 2), span_is(3, 5),
                                   span_is(2, 3), span_is(5, 7)));
  EXPECT_DOUBLE_EQ(step.seconds, 7);
}

// Two buckets of gradients: on threads the second is clipped while the first is reduced.
TEST(Simulation, AStreamRunsClippingAndReductionsInTurn) {
  Rank rank;
  const int backward = rank.compute(1);
  const int first = rank.clip(0.5, {backward});
  rank.reduce(2, {first});
  const int second = rank.clip(0.5, {backward});
  rank.reduce(2, {second});
  EXPECT_THAT(simulate_single_rank(rank, SimulatedExecutor::kThreads).spans.front(),
              testing::ElementsAre(span_is(0, 1), span_is(1, 1.5), span_is(1.5, 3.5),
                                   span_is(1.5, 2), span_is(3.5, 5.5)));
  EXPECT_THAT(simulate_single_rank(rank, SimulatedExecutor::kStreams).spans.front(),
              testing::ElementsAre(span_is(0, 1), span_is(1, 1.5), span_is(1.5, 3.5),
                                   span_is(3.5, 4), span_is(4, 6)));
}

TEST(Simulation, AThreadRunsTheFirstReadyArithmeticAStreamTheNext) {
  Rank rank;
  const int backward = rank.compute(3);
  rank.clip(1, {backward});
  rank.clip(1);
  rank.reduce(1, {backward});  // else there is no thread for arithmetic
  EXPECT_THAT(simulate_single_rank(rank, SimulatedExecutor::kThreads).spans.front()[2],
              span_is(0, 1));
  EXPECT_THAT(simulate_single_rank(rank, SimulatedExecutor::kStreams).spans.front()[2],
              span_is(4, 5));
}

// An event is recorded when it is first needed, so it covers all that was issued before.
TEST(Simulation, AStreamsEventCoversWhatWasIssuedBefore) {
  Rank rank;
  const int first = rank.compute(1);
  rank.compute(5);
  rank.clip(1, {first});
  EXPECT_THAT(simulate_single_rank(rank, SimulatedExecutor::kStreams).spans.front()[2],
              span_is(6, 7));
}

TEST(Simulation, ASingleRanksThreadDoesEverything) {
  Rank rank;
  const int first = rank.compute(1);
  rank.clip(2, {first});
  rank.compute(3, {first});
  EXPECT_THAT(simulate_single_rank(rank, SimulatedExecutor::kThreads).spans.front(),
              testing::ElementsAre(span_is(0, 1), span_is(4, 6), span_is(1, 4)));
}

TEST(Simulation, ACollectiveBeginsWhenItsLastRankDoes) {
  Rank fast, slow;
  fast.reduce(2, {fast.compute(1)});
  slow.reduce(2, {slow.compute(4)});
  const SimulatedStep step = simulate(std::vector{fast.simulated(), slow.simulated()}, {});
  EXPECT_THAT(step.spans[0][1], span_is(1, 6));
  EXPECT_THAT(step.spans[1][1], span_is(4, 6));
}

TEST(Simulation, TransfersOfARankShareItsLinkButNotTheirLatency) {
  Rank rank;
  rank.add(kReduce, Lane::kCollectives, {2, 1, 0});
  rank.add(kGatherUpdated, Lane::kGathers, {3, 0, 1});
  const SimulatedStep step = simulate_single_rank(rank, SimulatedExecutor::kThreads);
  EXPECT_THAT(step.spans.front(), testing::ElementsAre(span_is(0, 5), span_is(0, 5)));
}

TEST(Simulation, AMessageSharesTheLinkWithACollective) {
  Rank first, second;
  first.add(kSendOutput, Lane::kMessages, {2, 0, 0});
  first.reduce(2);
  second.add(kReceiveInput, Lane::kMessages, {0, 0, 0});
  second.reduce(2);
  const SimulatedStep step = simulate(std::vector{first.simulated(), second.simulated()}, {});
  EXPECT_THAT(step.spans[0], testing::ElementsAre(span_is(0, 4), span_is(0, 4)));
}

TEST(Simulation, MessagesLeaveOneAfterAnotherBesideOtherWork) {
  Rank first, second;
  const int forward = first.compute(1);
  for (const int message : {0, 1}) {
    first.add(kSendOutput, Lane::kMessages, {2, 0.5, message}, {forward});
    const int receipt = second.add(kReceiveInput, Lane::kMessages, {0, 0, message});
    second.compute(1, {receipt});
  }
  first.compute(4);
  const SimulatedStep step = simulate(std::vector{first.simulated(), second.simulated()}, {});
  EXPECT_THAT(step.spans[0],
              testing::ElementsAre(span_is(0, 1), span_is(1, 3.5), span_is(3, 5.5), span_is(1, 5)));
  EXPECT_THAT(step.spans[1], testing::ElementsAre(span_is(0, 3.5), span_is(3.5, 4.5),
                                                  span_is(4.5, 5.5), span_is(5.5, 6.5)));
}

TEST(Simulation, BackwardEndsWhenAllMessagesHaveArrived) {
  Rank first, second;
  first.add(kSendGradient, Lane::kMessages, {2, 1, 0}, {first.compute(1)});
  second.add(kReceiveGradient, Lane::kMessages, {0, 0, 0});
  for (Rank* rank : {&first, &second}) rank->add(kEndBackward, Lane::kCompute, {});
  const SimulatedStep step = simulate(std::vector{first.simulated(), second.simulated()}, {});
  EXPECT_THAT(step.spans[0].back(), span_is(4, 4));
  EXPECT_THAT(step.spans[1].back(), span_is(4, 4));
}

TEST(Simulation, ACollectiveSlowsComputeDown) {
  Rank rank;
  const int first = rank.compute(1);
  rank.reduce(2, {first});
  rank.compute(3, {first});
  const SimulatedStep step =
      simulate(std::vector{rank.simulated()}, {.compute_speed_in_collectives = 0.5});
  EXPECT_THAT(step.spans.front()[2], span_is(1, 5));  // 1 of 3 s in 2 s, then 2 s
}

TEST(Simulation, RanksThatWaitForEverAreNamed) {
  Rank single_rank, other;
  single_rank.compute(1, {single_rank.add(kReceiveInput, Lane::kMessages, {0, 0, 7})});
  EXPECT_THAT([&] { simulate_single_rank(single_rank, SimulatedExecutor::kThreads); },
              Throws<Error>(Property(&Error::what, HasSubstr("operation 1: backward"))));
  other.add(kReduceNorm, Lane::kCollectives, {1, 0, 0});
  other.reduce(1, {0});
  Rank fewer;
  fewer.reduce(1);
  EXPECT_THAT(
      [&] {
        simulate(std::vector{other.simulated(), fewer.simulated()}, {});
      },
      Throws<Error>(Property(&Error::what, HasSubstr("rank 0, operation 1: reduce"))));
}

TEST(Simulation, RefusesNegativeAndInfiniteCosts) {
  for (const double seconds : {-1.0, std::nan(""), HUGE_VAL}) {
    Rank rank;
    rank.compute(seconds);
    EXPECT_THAT([&] { simulate_single_rank(rank, SimulatedExecutor::kThreads); },
                Throws<Error>(Property(&Error::what, HasSubstr("must be finite"))));
  }
}

TEST(Simulation, RefusesAComputeSpeedOutsideZeroToOne) {
  Rank rank;
  rank.compute(1);
  for (const double speed : {0.0, -1.0, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(simulate(std::vector{rank.simulated()}, {.compute_speed_in_collectives = speed}),
                 Error)
        << speed;
  }
}

// Dependencies and lanes are respected, and no time is lost.
TEST(Simulation, RandomListsKeepTheirOrder) {
  std::mt19937 random(1);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int repeat = 0; repeat < 200; ++repeat) {
    Rank rank;
    const int size = 2 + below(30);
    double sum = 0;
    std::map<Lane, double> sums;
    for (int place = 0; place < size; ++place) {
      std::vector<int> after;
      for (int i = below(3); i > 0 && place > 0; --i) after.push_back(below(place));
      const double seconds = below(4);
      sum += seconds;
      switch (below(3)) {
        case 0:
          rank.compute(seconds, after);
          break;
        case 1:
          rank.clip(seconds, after);
          break;
        default:
          rank.reduce(seconds, after);
      }
      sums[rank.list()[place].lane] += seconds;
    }
    for (const auto executor : {SimulatedExecutor::kThreads, SimulatedExecutor::kStreams}) {
      const SimulatedStep step = simulate_single_rank(rank, executor);
      const std::vector<SimulatedSpan>& spans = step.spans.front();
      EXPECT_LE(step.seconds, sum + 1e-9);
      for (const auto& [lane, seconds] : sums) EXPECT_GE(step.seconds + 1e-9, seconds);
      for (int place = 0; place < size; ++place) {
        const SimulatedSpan& span = spans[static_cast<size_t>(place)];
        for (const int before : rank.list()[place].after) {
          EXPECT_GE(span.begin + 1e-9, spans[static_cast<size_t>(before)].end);
        }
        for (int other = 0; other < place; ++other) {
          const auto thread = [&](int operation) {
            const Lane lane = rank.list()[operation].lane;
            return executor == SimulatedExecutor::kStreams && lane != Lane::kCompute
                       ? Lane::kArithmetic
                       : lane;
          };
          if (thread(other) != thread(place)) continue;
          const SimulatedSpan& earlier = spans[static_cast<size_t>(other)];
          EXPECT_TRUE(span.begin + 1e-9 >= earlier.end || earlier.begin + 1e-9 >= span.end);
        }
      }
    }
  }
}

TEST(Simulation, TimesHaveTheFormThatExecutorsReport) {
  Rank rank;
  const int backward = rank.compute(1);
  rank.reduce(2, {rank.clip(0.5, {backward})});
  const SimulatedStep step = simulate_single_rank(rank, SimulatedExecutor::kThreads);
  const std::vector<OperationTime> times = operation_times(rank.list(), step.spans.front());
  ASSERT_EQ(times.size(), 2u);  // backward times itself
  EXPECT_EQ(times[1].kind, kReduce);
  EXPECT_EQ(times[1].begin_ns, 1'500'000'000);
  EXPECT_EQ(times[1].end_ns, 3'500'000'000);
  EXPECT_DOUBLE_EQ(step_times(times, 1'000'000'000, 3'500'000'000).exposed_communication_seconds,
                   2);
}

TEST(Simulation, TimesAreInOrderOfCompletion) {
  Rank rank;
  const int backward = rank.compute(1);
  rank.reduce(2, {rank.clip(0.5, {backward})});
  rank.clip(0.25, {backward});
  const SimulatedStep step = simulate_single_rank(rank, SimulatedExecutor::kThreads);
  const std::vector<OperationTime> times = operation_times(rank.list(), step.spans.front());
  ASSERT_EQ(times.size(), 3u);
  EXPECT_EQ(times[1].kind, kClip);
  EXPECT_EQ(times[1].end_ns, 1'750'000'000);
  EXPECT_EQ(times[2].kind, kReduce);
}

}  // namespace
}  // namespace strata::comm
