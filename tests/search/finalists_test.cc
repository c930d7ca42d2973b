#include "search/finalists.h"

#include "tests/support/temporary_directory.h"

namespace strata::search {
namespace {

class FinalistsTest : public testing_support::TemporaryDirectory {
 protected:
  // Adds a run of the finals that took so many samples; 0: it missed the target.
  void add(int trial, uint64_t seed, int64_t samples, double seconds = 0) {
    log_.add({{trial, 0, plan_.seed}, {}, {Ending::kMissed, 0.1 * trial, 10, 1}});
    log_.add({{trial, kFinals, plan_.seed + 1 + seed},
              {},
              {samples > 0 ? Ending::kReached : Ending::kMissed, 0.5, samples, seconds}});
  }
  // All trials of rung 0 are in the finals.
  SearchPlan plan_{.trials = 3, .rungs = {10}, .finalists = 4, .seeds = 5};
  TrialLog log_{directory_ / "trials.jsonl"};
};

// scipy 1.16 computed the figures: stats.t.ppf, stats.ttest_ind(alternative="less").
TEST_F(FinalistsTest, NumbersMatchScipy) {
  const int64_t won[] = {600, 640, 620, 700, 610}, base[] = {1120, 1072, 1168, 1120, 1216};
  for (uint64_t seed = 0; seed < 5; ++seed) {
    add(3, seed, won[seed]);
    add(kBaseTrial, seed, base[seed]);
  }
  const auto finalists = rank_finalists(plan_, log_);
  ASSERT_EQ(finalists.size(), 2u);
  EXPECT_EQ(finalists[0].trial, 3);
  EXPECT_NEAR(finalists[0].mean, 623.3333333333334, 1e-9);
  EXPECT_EQ(finalists[0].median, 620);
  EXPECT_EQ(finalists[0].least, 600);
  EXPECT_EQ(finalists[0].most, 700);
  EXPECT_NEAR(finalists[0].interval.value(), 49.355167768004435, 1e-9);
  EXPECT_NEAR(finalists[0].p_value.value() / 8.356408417529451e-08, 1, 1e-6);
  EXPECT_EQ(finalists[1].trial, kBaseTrial);
  EXPECT_FALSE(finalists[1].p_value);
}

TEST_F(FinalistsTest, FewRunsHaveAPlainMean) {
  add(1, 0, 640);
  add(1, 1, 660);
  add(2, 0, 300);
  const auto finalists = rank_finalists(plan_, log_);
  EXPECT_EQ(finalists[0].trial, 1);
  EXPECT_EQ(finalists[0].mean, 650);
  EXPECT_NEAR(finalists[0].interval.value(), 127.06204736174693, 1e-9);
  EXPECT_FALSE(finalists[0].p_value);  // the base has no runs
  EXPECT_EQ(finalists[1].mean, 300);
  EXPECT_FALSE(finalists[1].interval);
}

TEST_F(FinalistsTest, ReachingTheTargetComesFirst) {
  add(1, 0, 100);
  add(1, 1, 0);
  add(2, 0, 900);
  add(2, 1, 900);
  const auto finalists = rank_finalists(plan_, log_);
  EXPECT_EQ(finalists[0].trial, 2);
  EXPECT_EQ(finalists[1].reached, 1);
  EXPECT_EQ(finalists[1].runs, 2);
}

TEST_F(FinalistsTest, SecondsCountIfTheyAreTheObjective) {
  add(1, 0, 100, 9);
  add(2, 0, 200, 5);
  EXPECT_EQ(rank_finalists(plan_, log_)[0].trial, 1);
  plan_.objective = Objective::kSeconds;
  EXPECT_EQ(rank_finalists(plan_, log_)[0].trial, 2);
}

}  // namespace
}  // namespace strata::search
