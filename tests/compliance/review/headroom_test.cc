// Tests the margin by which convergence passes or fails.
#include "compliance/review/headroom.h"

#include "tests/compliance/review/runs.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

RunRecord evaluated(std::vector<double> counts) {
  RunRecord run = run_of(0, 0, 60);
  for (const double count : counts) run.evaluations.push_back({kDay0, count, 0});
  return run;
}

RcpVerdict rcp_of(double mean, double least) {
  RcpVerdict verdict;
  verdict.judged = true;
  verdict.passed = mean >= least;
  verdict.submission_mean = mean;
  verdict.reference_mean = 1.1 * least;
  verdict.least_mean = least;
  verdict.scaling = std::max(1.0, 1.1 * least / mean);
  return verdict;
}

FolderConvergence convergence_of(double batch) {
  FolderConvergence folder;
  folder.batch_size = batch;
  folder.benchmark = "bert";
  folder.enough = true;
  folder.epochs.assign(10, 2.5e6);
  return folder;
}

const std::vector<RunRecord> kRuns(10, evaluated({150000, 300000, 450000, 2500000}));

TEST(Headroom, IsCountedInMedianEvaluations) {
  EXPECT_EQ(evaluation_distance({evaluated({0, 150000, 300000, 450000, 2500000})}), 150000);
  EXPECT_EQ(evaluation_distance({evaluated({1}), evaluated({1, 1})}), std::nullopt);
  EXPECT_EQ(evaluation_distance({}), std::nullopt);
  const auto passes = headroom_of(rcp_of(2500000, 2350000), 8, 150000);
  ASSERT_TRUE(passes);
  EXPECT_DOUBLE_EQ(passes->evaluations, 1);
  EXPECT_EQ(passes->missing, 0);
}

TEST(Headroom, SaysHowManyEvaluationsAreMissing) {
  // Eight runs lack 3,000 each, 24,000 together: one evaluation. With 160,000 each they lack nine.
  EXPECT_EQ(headroom_of(rcp_of(2497000, 2500000), 8, 150000)->missing, 1);
  EXPECT_EQ(headroom_of(rcp_of(2340000, 2500000), 8, 150000)->missing, 9);
  EXPECT_EQ(headroom_of(rcp_of(2350000, 2500000), 8, 150000)->missing, 8);
  // The named number of evaluations makes it pass; one fewer does not.
  for (const double mean : {2497000.0, 2340000.0, 2350000.0, 2111111.0}) {
    const double missing = headroom_of(rcp_of(mean, 2500000), 8, 150000)->missing;
    EXPECT_GE(mean + missing * 150000 / 8, 2500000 - 1e-3) << mean;
    EXPECT_LT(mean + (missing - 1) * 150000 / 8, 2500000) << mean;
  }
}

TEST(Headroom, AVerdictThatIsNotJudgedHasNoHeadroom) {
  RcpVerdict none;
  EXPECT_FALSE(headroom_of(none, 8, 150000));
  EXPECT_TRUE(describe_headroom(none, convergence_of(448), kRuns, nullptr, "").empty());
  EXPECT_FALSE(headroom_of(rcp_of(1, 2), 0, 150000));
  EXPECT_FALSE(headroom_of(rcp_of(1, 2), 8, std::nullopt));
  EXPECT_FALSE(headroom_of(rcp_of(1e308, -1e308), 8, 1e-300));
}

TEST(Headroom, IsDescribedInOneSentence) {
  const auto passes =
      describe_headroom(rcp_of(2500000, 2350000), convergence_of(448), kRuns, nullptr, "");
  ASSERT_EQ(passes.size(), 1u);
  EXPECT_EQ(passes[0],
            "passes the convergence check by 1 evaluation, averaged over 8 runs; an evaluation "
            "follows every 150,000 samples");
  const auto fails = describe_headroom(rcp_of(2340000, 2500000), convergence_of(448), kRuns,
                                       nullptr, "results with the nearest batch sizes: x");
  ASSERT_EQ(fails.size(), 1u);
  EXPECT_THAT(fails[0], HasSubstr("would pass if these runs took 9 more evaluations in total"));
  EXPECT_THAT(fails[0], HasSubstr("multiply the score by 1.1752 (scaling.json)"));
  EXPECT_TRUE(fails[0].ends_with("; results with the nearest batch sizes: x")) << fails[0];
}

TEST(Headroom, ConstantCountsGiveNoHeadroom) {
  const std::vector<RunRecord> constants(10, evaluated({1, 1, 1}));
  const auto texts = describe_headroom(rcp_of(1, 2500000), convergence_of(448), constants, nullptr,
                                       "results with the nearest batch sizes: x");
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_THAT(texts[0], HasSubstr("does not count samples"));
  EXPECT_THAT(texts[0], Not(HasSubstr("nearest")));
}

// train_samples may decide convergence if evaluations count nothing.
TEST(Headroom, WithoutCountsTheFormulaOfBertIsUsed) {
  const std::vector<RunRecord> constants(10, evaluated({1, 1, 1}));
  const auto texts =
      describe_headroom(rcp_of(2500000, 2350000), convergence_of(448), constants, nullptr, "");
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_THAT(texts[0], HasSubstr("passes the convergence check by 1 evaluation"));
  EXPECT_THAT(texts[0], HasSubstr("an evaluation follows every 150,000 samples"));
  EXPECT_TRUE(
      describe_headroom(rcp_of(2500000, 2350000), convergence_of(1e18), constants, nullptr, "")
          .empty());
}

TEST(Headroom, AMissingPointNamesItsNeighbours) {
  const auto points = load_reference_points("", "training", "2.0.0", "bert");
  ASSERT_TRUE(points);
  const double largest = points->pruned().back().batch_size;
  FolderConvergence folder = convergence_of(2 * largest);
  const RcpVerdict verdict = check_rcp(folder, *points, RcpPass::kPruned);
  ASSERT_FALSE(verdict.submission_mean);
  const auto texts = describe_headroom(verdict, folder, kRuns, &*points, "");
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_THAT(texts[0], HasSubstr("below is " + count_text(largest)));
  EXPECT_THAT(texts[0], Not(HasSubstr("above")));
}

TEST(Headroom, NearestResultsHaveTheNearestBatchSizes) {
  const std::vector<PublishedConvergence> published = {{"A own", 448, 2.6e6},
                                                       {"B far", 16384, 5e6},
                                                       {"C near", 512, 2.7e6},
                                                       {"D nearer", 440, 2.5e6},
                                                       {"E none", 0, 1}};
  EXPECT_EQ(describe_nearest(448, "A own", published),
            "results with the nearest batch sizes: D nearer (batch size 440, mean 2,500,000), C "
            "near (batch size 512, mean 2,700,000)");
  EXPECT_EQ(describe_nearest(448, "A own", {{"A own", 448, 1}}), "");
  EXPECT_EQ(describe_nearest(0, "A own", published), "");
}

}  // namespace
}  // namespace strata::compliance
