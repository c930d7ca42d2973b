// Tests which of the runs were submitted.
#include "compliance/review/run_windows.h"

#include <algorithm>
#include <cmath>

#include "tests/compliance/review/runs.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

// Returns runs in a row with a minute between them, numbered from `first`.
std::vector<RunRecord> series(const std::vector<double>& minutes, int first = 0, double start = 0) {
  std::vector<RunRecord> runs;
  for (const double one : minutes) {
    runs.push_back(run_of(first++, start, std::fabs(one), one > 0));  // below 0: failed
    start += std::fabs(one) + 1;
  }
  return runs;
}

Ids runs_ids(const std::vector<RunRecord>& runs, size_t wanted = 5,
             const std::vector<RunRecord>& others = {}) {
  return ids_of(review_runs(runs, others, wanted, 1).findings);
}

TEST(RunWindows, AScoreDropsTheFastestAndTheSlowest) {
  EXPECT_EQ(window_score(std::vector<double>{5, 1, 3, 2, 100}, 1), 10.0 / 3);
  const double failed = HUGE_VAL;
  EXPECT_EQ(window_score(std::vector<double>{5, 1, 3, 2, failed}, 1), 10.0 / 3);
  EXPECT_EQ(window_score(std::vector<double>{failed, 1, 3, 2, failed}, 1), HUGE_VAL);
  EXPECT_EQ(window_score(std::vector<double>{1, 2}, 1), HUGE_VAL);
  EXPECT_EQ(window_score({}, 0), HUGE_VAL);
}

// The example of the rules: 5 consecutive runs of 10 are submitted, so there are 6 windows.
TEST(RunWindows, HoldConsecutiveRunsByTheTimeOfLaunch) {
  std::vector<RunRecord> runs = series({10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
  std::ranges::reverse(runs);
  const RunWindows windows = score_windows(runs, 5, 1);
  ASSERT_EQ(windows.scores.size(), 6u);
  EXPECT_EQ(windows.order.front(), 9u);
  for (size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(windows.scores[i], (12 + static_cast<double>(i)) * kMinute, 1e-3);
  EXPECT_NEAR(windows.median, 14.5 * kMinute, 1e-3);
  EXPECT_TRUE(windows.closest == 2 || windows.closest == 3);
}

TEST(RunWindows, FailedWindowsCountAsInfinite) {
  const RunWindows windows = score_windows(series({10, -1, -1, 10, 10, 10, 10}), 5, 1);
  ASSERT_EQ(windows.scores.size(), 3u);
  EXPECT_EQ(windows.scores[0], HUGE_VAL);
  EXPECT_EQ(windows.median, HUGE_VAL);
  EXPECT_EQ(windows.closest, 0u);
}

TEST(RunWindows, NeedEnoughRuns) {
  EXPECT_TRUE(score_windows(series({1, 2}), 5, 1).scores.empty());
  EXPECT_TRUE(score_windows(series({1, 2}), 0, 1).scores.empty());
  EXPECT_TRUE(score_windows({}, 5, 1).scores.empty());
  EXPECT_EQ(chance_of_score(series({1, 2}), 5, 1, 3), 0);
}

TEST(RunWindows, SubmittingTheFastestWindowIsNoticed) {
  // The fast runs come first and are submitted.
  const auto runs = series({10, 10, 10, 10, 10, 20, 20, 20, 20, 20, 20, 20, 20, 20});
  const RunsReview reviewed = review_runs(runs, {}, 5, 1);
  ASSERT_EQ(ids_of(reviewed.findings), Ids{"review/runs/window"});
  const std::string& text = reviewed.findings[0].text;
  EXPECT_THAT(text, HasSubstr("5 of 14 runs score 10 min; the median score of all 10 windows of "
                              "consecutive runs is 20 min; 2 windows are as fast or faster"));
  EXPECT_THAT(text, HasSubstr("closest to the median is result_4 to result_8"));
}

TEST(RunWindows, SubmittingAMedianWindowIsNotNoticed) {
  const auto runs = series({15, 15, 15, 15, 15, 10, 10, 10, 10, 10, 20, 20, 20, 20, 20});
  EXPECT_EQ(runs_ids(runs), Ids{});
  EXPECT_EQ(review_runs(runs, {}, 5, 1).notes.size(), 1u);
  // A slow window is not reported either, because it gains nothing.
  auto slow = series({30, 30, 30, 30, 30, 10, 10, 10, 10, 10, 20, 20, 20, 20, 20});
  EXPECT_EQ(runs_ids(slow), Ids{});
}

TEST(RunWindows, RunsOutsideTheFolderCount) {
  const auto submitted = series({10, 10, 10, 10, 10}, 0, 1000);
  const auto others = series({20, 20, 20, 20, 20, 20, 20, 20}, 5, 0);
  EXPECT_EQ(runs_ids(submitted, 5, others), Ids{"review/runs/window"});
  EXPECT_EQ(runs_ids(submitted, 5, {}), Ids{});
  EXPECT_EQ(runs_ids(submitted, 0, others), Ids{});
}

TEST(RunWindows, RunsPickedOutAreNotConsecutive) {
  std::vector<RunRecord> picked, others;
  auto all = series({10, 20, 10, 20, 10, 20, 10, 20, 10, 20});
  for (size_t i = 0; i < all.size(); ++i) (i % 2 == 0 ? picked : others).push_back(all[i]);
  for (size_t i = 0; i < picked.size(); ++i)
    picked[i].path = "bert/result_" + std::to_string(i) + ".txt";
  const Ids ids = runs_ids(picked, 5, others);
  EXPECT_EQ(std::ranges::count(ids, "review/runs/not-consecutive"), 1) << ids.size();
  EXPECT_EQ(std::ranges::count(ids, "review/runs/window"), 1);
}

// Counts all choices of 5 out of 12.
TEST(RunWindows, ChanceIsThatOfRandomChoices) {
  const std::vector<double> minutes = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};
  const double score = 13 * kMinute;
  int as_fast = 0, all = 0;
  for (unsigned chosen = 0; chosen < 1u << 12; ++chosen) {
    std::vector<double> times;
    for (size_t i = 0; i < 12; ++i) {
      if ((chosen >> i & 1) != 0) times.push_back(minutes[i] * kMinute);
    }
    if (times.size() != 5) continue;
    ++all;
    as_fast += window_score(times, 1) <= score + 1e-6;
  }
  ASSERT_EQ(all, 792);
  EXPECT_NEAR(chance_of_score(series(minutes), 5, 1, score + 1e-3),
              static_cast<double>(as_fast) / all, 0.01);
}

TEST(RunWindows, NumbersCountFromZeroOrOneWithoutHoles) {
  EXPECT_EQ(runs_ids(series({5, 5, 5, 5, 5}, 0)), Ids{});
  EXPECT_EQ(runs_ids(series({5, 5, 5, 5, 5}, 1)), Ids{});
  const auto later = review_runs(series({5, 5, 5, 5, 5}, 31), {}, 5, 1).findings;
  ASSERT_EQ(ids_of(later), Ids{"review/runs/numbering"});
  EXPECT_THAT(later[0].text, HasSubstr("numbered 31 to 35; the first number is not 0 or 1"));
  auto holes = series({5, 5, 5, 5, 5});
  holes[4].path = "bert/result_12.txt";
  EXPECT_EQ(runs_ids(holes), Ids{"review/runs/numbering"});
  holes[4].path = "bert/result_18446744073709551615.txt";
  EXPECT_EQ(runs_ids(holes), Ids{"review/runs/numbering"});
  // Names of another kind have no order.
  for (const char* name : {"bert/result_220520100725096152634_1.txt", "bert/result_.txt",
                           "bert/result_99999999999999999999.txt"}) {
    holes[4].path = name;
    EXPECT_EQ(runs_ids(holes), Ids{}) << name;
  }
}

TEST(RunWindows, AHoleInANumberingIsNamed) {
  const auto text = [](const std::vector<int>& numbers) {
    std::vector<RunRecord> runs;
    for (const int number : numbers) runs.push_back(run_of(number, 10.0 * number, 5));
    const auto findings = review_runs(runs, {}, 0, 1).findings;
    return findings.empty() ? "" : findings[0].text;
  };
  EXPECT_EQ(text({0, 1, 2, 3, 5, 6}),
            "the runs are numbered 0 to 6, without 4: were other runs left out?");
  EXPECT_EQ(text({2, 3, 7, 9}),
            "the runs are numbered 2 to 9, without 4 to 6, 8; the first number is not 0 or 1: were "
            "other runs left out?");
  std::vector<int> forty;
  for (int i = 0; i <= 40; ++i) {
    if (i != 17) forty.push_back(i);
  }
  EXPECT_THAT(text(forty), HasSubstr("without 17:"));
  std::vector<int> odd;
  for (int i = 1; i < 40; i += 2) odd.push_back(i);
  EXPECT_THAT(text(odd), HasSubstr("22, 24 and 7 more gaps:"));
}

TEST(RunWindows, WeakScalingHasNoOrderOfRuns) {
  auto runs = series({5, 5, 5, 5, 5}, 31);
  EXPECT_FALSE(review_runs(runs, {}, 5, 1).findings.empty());
  const RunsReview weak = review_runs(runs, {}, 5, 1, true);
  EXPECT_EQ(ids_of(weak.findings), Ids{});
  EXPECT_TRUE(weak.notes.empty());
}

TEST(RunWindows, RunsThatBeginAndEndTogetherMayDiffer) {
  RunRecord one = run_of(1, 0, 5), other = run_of(2, 0, 5);
  one.evaluations = {{kDay0 + kMinute, 1, 1}};
  other.evaluations = {{kDay0 + kMinute + 3, 1, 1}};
  EXPECT_EQ(ids_of(find_same_runs({&one, &other})), Ids{});
  other.evaluations = one.evaluations;
  EXPECT_EQ(ids_of(find_same_runs({&one, &other})), Ids{"review/runs/same-run"});
}

TEST(RunWindows, PathsAreNotCut) {
  RunRecord one = run_of(1, 0, 5), other = run_of(2, 0, 5);
  one.path = "results/" + std::string(90, 'x') + "/bert/result_0.txt";
  EXPECT_THAT(find_same_runs({&one, &other})[0].text, HasSubstr(one.path.string()));
}

TEST(RunWindows, ASameRunTwiceIsNoticed) {
  auto runs = series({5, 6, 7});
  RunRecord again = runs[1];
  again.path = "bert/result_9.txt";
  EXPECT_EQ(ids_of(find_same_runs({&runs[0], &runs[1], &runs[2]})), Ids{});
  const auto findings = find_same_runs({&runs[0], &runs[1], &runs[2], &again});
  ASSERT_EQ(ids_of(findings), Ids{"review/runs/same-run"});
  EXPECT_EQ(findings[0].path, "bert/result_9.txt");
  EXPECT_THAT(findings[0].text, HasSubstr("same run as result_1.txt"));
  again.path = "other/result_1.txt";
  EXPECT_THAT(find_same_runs({&runs[1], &again})[0].text, HasSubstr("bert/result_1.txt"));
  // Runs without times cannot be compared.
  RunRecord nothing;
  EXPECT_EQ(ids_of(find_same_runs({&nothing, &nothing})), Ids{});
}

TEST(RunWindows, OverlappingRunsGiveANote) {
  std::vector<RunRecord> runs;
  for (int i = 0; i < 5; ++i) runs.push_back(run_of(i, i, 2.5));
  const RunsReview reviewed = review_runs(runs, {}, 5, 1);
  EXPECT_EQ(ids_of(reviewed.findings), Ids{});
  ASSERT_EQ(reviewed.notes.size(), 1u);
  EXPECT_THAT(reviewed.notes[0], HasSubstr("up to 3 runs"));
  // A run that starts when another ends does not overlap it.
  EXPECT_TRUE(review_runs({run_of(0, 0, 5), run_of(1, 5, 5)}, {}, 2, 0).notes.empty());
}

TEST(RunWindows, AHoleInASeriesIsNoticed) {
  auto runs = series({10, 10, 10});
  for (RunRecord& run : series({10, 10, 10}, 3, 33 + 25)) runs.push_back(run);
  const auto findings = review_runs(runs, {}, 6, 1).findings;
  ASSERT_EQ(ids_of(findings), Ids{"review/runs/gap"});
  EXPECT_EQ(findings[0].path, "bert/result_3.txt");
  EXPECT_THAT(findings[0].text,
              HasSubstr("result_3 follows result_2 after a pause of 26 min, but the median pause "
                        "is 60 s; 2 more runs would fit into this pause"));
}

TEST(RunWindows, AHoleTooShortForARunIsIgnored) {
  auto runs = series({10, 10, 10});
  for (RunRecord& run : series({10, 10, 10}, 3, 33 + 9)) runs.push_back(run);
  EXPECT_EQ(runs_ids(runs, 6), Ids{});
}

TEST(RunWindows, RunsFarApartHaveNoHoles) {
  std::vector<RunRecord> runs;
  for (int i = 0; i < 6; ++i) runs.push_back(run_of(i, 100 * i * i, 10));
  EXPECT_EQ(runs_ids(runs, 6), Ids{});
}

TEST(RunWindows, AcceptAnyTimes) {
  EXPECT_EQ(runs_ids({}), Ids{});
  for (const double time : {0.0, -1e15, 1e15}) {
    auto runs = series({5, 5, 5, 5, 5, 5, 5});
    runs[1].run_start->time_ms = time;
    runs_ids(runs);
    runs[2].run_stop->time_ms = time;
    runs[3].init_start = Moment{time, 0};
    runs[4].run_start.reset();
    runs[5].run_stop.reset();
    runs_ids(runs);
    runs_ids(runs, 7);
    runs_ids(runs, 1000000000000);
  }
}

}  // namespace
}  // namespace strata::compliance
