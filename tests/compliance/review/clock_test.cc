// Tests the review of a run's clock: pauses, resumptions, and events outside the run.
#include "compliance/review/clock.h"

#include "tests/compliance/review/runs.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

// Returns ten evaluations, every two minutes from the second on; the run stops after the last one.
RunRecord steady_run() {
  RunRecord run = run_of(0, 0, 20);
  run.submission["benchmark"] = {"bert", 1};
  run.init_start = Moment{kDay0 - 5 * kMinute, 10};
  run.init_stop = Moment{kDay0 - kMinute, 90};
  run.cache_clear = Moment{kDay0 - 6 * kMinute, 5};
  run.first_event = Moment{kDay0 - 7 * kMinute, 0};
  for (int i = 1; i <= 10; ++i) {
    run.evaluations.push_back(
        {kDay0 + 2 * kMinute * i, 150000.0 * i, static_cast<uint64_t>(100 + i)});
  }
  return run;
}

Ids clock_ids(const RunRecord& run) { return ids_of(review_clock(run)); }

TEST(Clock, ASteadyRunHasNoFinding) { EXPECT_EQ(clock_ids(steady_run()), Ids{}); }

TEST(Clock, ARunThatTookNoTimeIsNoticed) {
  RunRecord run = steady_run();
  run.evaluations.clear();
  run.run_stop->time_ms = run.run_start->time_ms + 1;
  EXPECT_EQ(clock_ids(run), Ids{});
  run.run_stop->time_ms = run.run_start->time_ms;
  EXPECT_EQ(clock_ids(run), Ids{"review/clock/no-time"});
}

TEST(Clock, APauseIsNoticedAtTheEvaluationAfterIt) {
  RunRecord run = steady_run();
  for (size_t i = 4; i < 10; ++i) run.evaluations[i].time_ms += 5 * kMinute;
  run.run_stop->time_ms += 5 * kMinute;
  run.silence = {6 * kMinute, 105};
  const auto doubts = review_clock(run);
  ASSERT_EQ(ids_of(doubts), Ids{"review/clock/pause"});
  EXPECT_EQ(doubts[0].offset, 105u);
  EXPECT_THAT(doubts[0].text,
              HasSubstr("7 min passed before this evaluation, but 2 min would be normal"));
  EXPECT_THAT(doubts[0].text, HasSubstr("without an event is 6 min"));
}

TEST(Clock, AnIntervalBelowTwoAndAHalfMediansIsNoPause) {
  RunRecord run = steady_run();
  for (size_t i = 4; i < 10; ++i) run.evaluations[i].time_ms += 2.9 * kMinute;
  run.run_stop->time_ms += 2.9 * kMinute;
  EXPECT_EQ(clock_ids(run), Ids{});
}

TEST(Clock, MoreProgressTakesMoreTime) {
  RunRecord run = steady_run();
  run.evaluations.erase(run.evaluations.begin() + 3, run.evaluations.begin() + 6);
  EXPECT_EQ(clock_ids(run), Ids{});  // eight minutes for four intervals
  for (Evaluation& evaluation : run.evaluations) evaluation.count = 1;
  EXPECT_EQ(clock_ids(run), Ids{"review/clock/pause"});
}

TEST(Clock, AWaitForRunStopIsNoticed) {
  RunRecord run = steady_run();
  run.run_stop->time_ms += 10 * kMinute;
  const auto doubts = review_clock(run);
  ASSERT_EQ(ids_of(doubts), Ids{"review/clock/pause"});
  EXPECT_EQ(doubts[0].offset, run.run_stop->offset);
  EXPECT_THAT(doubts[0].text, HasSubstr("from the last evaluation to run_stop"));
}

TEST(Clock, AHiccupOfALongRunIsNoPause) {
  RunRecord run = run_of(0, 0, 100 * 60);
  for (int i = 0; i < 6000; ++i) run.evaluations.push_back({kDay0 + kMinute * i, 1.0 * i, 1});
  run.run_stop->time_ms += 2 * kMinute;
  for (size_t i = 3000; i < 6000; ++i) run.evaluations[i].time_ms += 2 * kMinute;
  EXPECT_EQ(clock_ids(run), Ids{});
}

TEST(Clock, FewEvaluationsTellNothing) {
  RunRecord run = steady_run();
  run.evaluations.resize(5);
  EXPECT_EQ(clock_ids(run), Ids{});  // ten minutes to run_stop
}

TEST(Clock, AResumedRunIsNoticed) {
  RunRecord run = steady_run();
  run.resumptions.push_back({"12", 200, 77});
  const auto doubts = review_clock(run);
  ASSERT_EQ(ids_of(doubts), Ids{"review/clock/resumed"});
  EXPECT_THAT(doubts[0].text, HasSubstr("after step 12, 200 ms after"));
  EXPECT_EQ(doubts[0].offset, 77u);
}

TEST(Clock, ABlockThatStartsAgainIsNoticed) {
  RunRecord run = steady_run();
  run.restarts = 2;
  run.restarted = {2600e3, 55};
  const auto doubts = review_clock(run);
  ASSERT_EQ(ids_of(doubts), Ids{"review/clock/restarted"});
  EXPECT_EQ(doubts[0].offset, 55u);
  EXPECT_THAT(doubts[0].text,
              HasSubstr("again 43.3 min after its first start, without block_stop (2 such"));
}

TEST(Clock, CountsThatFallAreNoticed) {
  RunRecord run = steady_run();
  run.evaluations[6].count = 300000;
  EXPECT_EQ(clock_ids(run), Ids{"review/clock/steps-back"});
  run.submission["benchmark"].text = "minigo";
  EXPECT_EQ(clock_ids(run), Ids{});
}

// Two evaluations after the run, the later saved model first, with two metrics each.
TEST(Clock, StableDiffusionMayBeEvaluatedAfterTheRunInAnyOrder) {
  RunRecord run = run_of(0, 0, 20);
  run.submission["benchmark"] = {"stable_diffusion", 1};
  for (const double count : {2048000.0, 1536000.0}) {
    for (int metric = 0; metric < 2; ++metric) {
      const double time =
          kDay0 + (30 + 5.0 * static_cast<double>(run.evaluations.size())) * kMinute;
      run.evaluations.push_back({time, count, 300 + run.evaluations.size()});
    }
  }
  EXPECT_EQ(clock_ids(run), Ids{});
  run.submission["benchmark"].text = "flux1";
  EXPECT_EQ(clock_ids(run), (Ids{"review/clock/steps-back", "review/clock/evaluation-outside"}));
}

TEST(Clock, SeveralMetricsCountAsOneEvaluation) {
  RunRecord run = steady_run();
  std::vector<Evaluation> twice;
  for (const Evaluation& one : run.evaluations) {
    twice.push_back(one);
    twice.push_back({one.time_ms + 1000, one.count, one.offset + 50});
  }
  run.evaluations = twice;
  run.run_stop->time_ms += 1000;
  EXPECT_EQ(clock_ids(run), Ids{});
}

TEST(Clock, CountsOfUnlikeThingsAreNotCompared) {
  RunRecord run = steady_run();
  for (size_t i = 1; i < run.evaluations.size(); i += 2) {
    run.evaluations[i].count = static_cast<double>(i);
    run.evaluations[i].unit = 1;
  }
  EXPECT_EQ(clock_ids(run), Ids{});
}

TEST(Clock, AnEvaluationOutsideTheRunIsNoticed) {
  RunRecord late = steady_run();
  late.evaluations.back().time_ms += 5;  // processes may differ by this
  EXPECT_EQ(clock_ids(late), Ids{});
  late.evaluations.back().time_ms += 79;
  const auto doubts = review_clock(late);
  ASSERT_EQ(ids_of(doubts), Ids{"review/clock/evaluation-outside"});
  EXPECT_THAT(doubts[0].text, HasSubstr("84 ms after run_stop"));
  late.submission["benchmark"].text = "minigo";
  EXPECT_EQ(clock_ids(late), Ids{});
  RunRecord early = steady_run();
  early.evaluations.front().time_ms = kDay0 - 3000;
  const auto before = review_clock(early);
  ASSERT_EQ(ids_of(before), Ids{"review/clock/evaluation-outside"});
  EXPECT_THAT(before[0].text, HasSubstr("3 s before run_start"));
}

TEST(Clock, EventsOutOfOrderAreNoticed) {
  RunRecord run = steady_run();
  run.init_stop->time_ms = kDay0 + kMinute;
  run.cache_clear->time_ms = kDay0 + kMinute;
  EXPECT_EQ(clock_ids(run), (Ids{"review/clock/order", "review/clock/order"}));
  run = steady_run();
  std::swap(run.run_start->time_ms, run.run_stop->time_ms);
  EXPECT_EQ(clock_ids(run), Ids{"review/clock/order"});
}

TEST(Clock, AnEventADayEarlierIsNoticed) {
  RunRecord run = steady_run();
  run.first_event->time_ms = run.init_start->time_ms - 23 * 60 * kMinute;
  EXPECT_EQ(clock_ids(run), Ids{});
  run.first_event->time_ms = run.init_start->time_ms - 25 * 60 * kMinute;
  EXPECT_EQ(clock_ids(run), Ids{"review/clock/apart"});
}

TEST(Clock, AcceptsAnyTimes) {
  EXPECT_EQ(clock_ids(RunRecord()), Ids{});
  for (const double time : {0.0, -1e15, 1e15, kDay0}) {
    for (const double count : {0.0, 1e300, 1e-300, -1e18}) {
      RunRecord run = steady_run();
      for (size_t i = 0; i < run.evaluations.size(); ++i) {
        run.evaluations[i].time_ms = time;
        if (i % 2 == 0) run.evaluations[i].count = count;
      }
      clock_ids(run);
      run.run_stop->time_ms = time;
      clock_ids(run);
      run.run_start.reset();
      clock_ids(run);
    }
  }
  RunRecord run = steady_run();
  for (Evaluation& evaluation : run.evaluations)
    evaluation.time_ms = kDay0 + kMinute;  // all at once
  EXPECT_EQ(clock_ids(run), Ids{});
}

}  // namespace
}  // namespace strata::compliance
