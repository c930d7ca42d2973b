#include "scoring/plots/rcp_plot.h"

#include <algorithm>
#include <numeric>

#include "tests/support/error_of.h"
#include "tests/support/matchers.h"
#include "tests/support/occurrences.h"

namespace strata::scoring {
namespace {

using compliance::RcpPass;
using compliance::ReferencePoints;

// Returns batch sizes 100, 200 and 400; the middle one is slower than the line, so it is dominated.
ReferencePoints some_points() {
  return ReferencePoints(
      R"({"a": {"Benchmark": "bert", "BS": 100, "Epochs to converge": [10, 10, 10, 10, 12, 8]},
          "b": {"Benchmark": "bert", "BS": 200, "Epochs to converge": [19, 20, 21, 20, 20, 20]},
          "c": {"Benchmark": "bert", "BS": 400, "Epochs to converge": [20, 22, 24, 20, 22, 24]}})",
      "points.json", "training", "2.1.0", "bert");
}

TEST(RcpRows, ContainPrunedOrAllPoints) {
  const auto points = some_points();
  const auto pruned = rcp_rows(points, RcpPass::kPruned, false);
  ASSERT_EQ(pruned.size(), 2u);
  EXPECT_EQ(pruned[1].batch_size, 400);
  EXPECT_EQ(pruned[1].mean, 22);
  EXPECT_LT(pruned[1].least, 22);
  EXPECT_EQ(rcp_rows(points, RcpPass::kFull, false).size(), 3u);
  EXPECT_EQ(rcp_csv({{448, 2, 1.5, 10}}, true), "BS,Mean,Min\n448,2.0,1.5\n");
}

TEST(RcpRows, MatchTheInterpolationOfTheCheck) {
  const auto points = some_points();
  const auto rows = rcp_rows(points, RcpPass::kPruned, true);
  ASSERT_EQ(rows.size(), 301u);
  EXPECT_DOUBLE_EQ(rows[150].mean, 16);
  EXPECT_EQ(rows[150].runs, 0u);
  compliance::FolderConvergence folder;
  folder.benchmark = "bert";
  folder.batch_size = 250;
  folder.enough = true;
  folder.epochs = std::vector<double>(10, 15);
  EXPECT_DOUBLE_EQ(*check_rcp(folder, points, RcpPass::kPruned).least_mean, rows[150].least);
}

TEST(RcpRows, TooManyBatchSizesAreRefused) {
  const ReferencePoints points(
      R"({"a": {"Benchmark": "bert", "BS": 1, "Epochs to converge": [1, 1, 1]},
          "b": {"Benchmark": "bert", "BS": 1e12, "Epochs to converge": [2, 2, 2]}})",
      "points.json", "training", "2.1.0", "bert");
  EXPECT_THAT(testing_support::error_of([&] { rcp_rows(points, RcpPass::kFull, true); }),
              HasSubstr("too many"));
}

TEST(RcpBootstrap, DrawsMeansOfTheReferencesOwnRuns) {
  const auto points = some_points();
  const RcpBootstrap once = rcp_bootstrap(points, 400, 7), again = rcp_bootstrap(points, 400, 7);
  EXPECT_EQ(once.scores, again.scores);
  EXPECT_NE(once.scores, rcp_bootstrap(points, 400, 8).scores);
  ASSERT_EQ(once.scores.size(), 10'000u);
  EXPECT_GE(once.scores.front(), 20);
  EXPECT_LE(once.scores.back(), 24);
  const double mean = std::accumulate(once.scores.begin(), once.scores.end(), 0.0) / 1e4;
  EXPECT_NEAR(mean, 22, 0.05);  // its standard error is below 0.006
  const auto below =
      std::ranges::count_if(once.scores, [&](double score) { return score < once.point.least; });
  EXPECT_DOUBLE_EQ(once.below_least, static_cast<double>(below) / 1e4);
  const auto bars = histogram(once.scores);
  size_t count = 0;
  for (const HistogramBar& bar : bars) count += bar.count;
  EXPECT_EQ(count, 10'000u);
  EXPECT_THAT(testing_support::error_of([&] { rcp_bootstrap(points, 300, 7); }),
              HasSubstr("100, 200, 400"));
}

TEST(Histogram, EqualValuesAreOneBar) {
  EXPECT_EQ(histogram({3, 3, 3}).size(), 1u);
  EXPECT_TRUE(histogram({}).empty());
}

TEST(RcpPlot, ShowsRunsMeansAndWhichPointsAreDominated) {
  using testing_support::occurrences;
  const auto points = some_points();
  const std::string plain = plot_rcp(points, RcpPass::kPruned, false).picture.elements;
  // Each kind has a key.
  EXPECT_EQ(occurrences(plain, "class=\"small\""), 18u + 1) << plain;
  EXPECT_EQ(occurrences(plain, "<title>batch size 200: 20</title></circle>"), 1u) << plain;
  EXPECT_EQ(occurrences(plain, "class=\"hollow\""), 1u + 1) << plain;
  EXPECT_EQ(occurrences(plain, ">dominated<"), 1u) << plain;
  EXPECT_EQ(occurrences(plain, "class=\"line"), 0u);
  EXPECT_EQ(
      occurrences(plot_rcp(points, RcpPass::kPruned, true).picture.elements, "class=\"line bold"),
      2u);
  EXPECT_EQ(
      occurrences(plot_rcp(points, RcpPass::kFull, false).picture.elements, "class=\"hollow\""),
      0u);
}

TEST(RcpPlot, ABootstrapIsAHistogramWithBothMeans) {
  using testing_support::occurrences;
  const auto points = some_points();
  const RcpBootstrap bootstrap = rcp_bootstrap(points, 400, 0);
  const std::string svg = plot_rcp(points, bootstrap).picture.elements;
  EXPECT_EQ(occurrences(svg, "class=\"column\""), histogram(bootstrap.scores).size());
  EXPECT_EQ(occurrences(svg, "class=\"upright\""), 2u);
  EXPECT_EQ(occurrences(svg, ">least allowed mean<"), 1u);
}

}  // namespace
}  // namespace strata::scoring
