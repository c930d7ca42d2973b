#include "loadbalance/plans/imbalance.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "loadbalance/length_histogram.h"
#include "tests/loadbalance/plan_checks.h"

namespace strata::loadbalance {
namespace {

ImbalanceReport measure(const std::string& strategy, int ranks, int steps, int group_ranks = 0) {
  static const auto histogram = in_proportion(mlperf_wikipedia_histogram(), 32 * 16384);
  return measure_imbalance({.strategy = strategy,
                            .ranks = ranks,
                            .batch_per_rank = 16,
                            .seed = 5,
                            .group_ranks = group_ranks},
                           histogram, steps);
}

TEST(Imbalance, EqualSamplesAreBalanced) {
  const std::vector<LengthCount> lengths = {{7, 100}};
  const auto report = measure_imbalance({.strategy = "random", .ranks = 5}, lengths, 10);
  EXPECT_DOUBLE_EQ(report.mean_imbalance, 1);
  EXPECT_DOUBLE_EQ(report.p99_imbalance, 1);
  EXPECT_DOUBLE_EQ(report.mean_group_bound, 1);
  EXPECT_EQ(report.bytes_per_step, 0);
}

// Two ranks of one sample each, of 1 and 3 tokens in any order.
TEST(Imbalance, IsTheHeaviestRankOverTheMean) {
  const std::vector<LengthCount> lengths = {{1, 1}, {3, 1}};
  const PlanOptions options{.strategy = "random", .ranks = 2, .cost = {1, 0}};
  const auto report = measure_imbalance(options, lengths, 3);
  EXPECT_DOUBLE_EQ(report.mean_imbalance, 1.5);
  EXPECT_DOUBLE_EQ(report.p99_imbalance, 1.5);
}

// Each rank receives the other ranks' samples, at 5 bytes per token.
TEST(Imbalance, CountsTheBytesOfThePublishedForms) {
  const std::vector<LengthCount> lengths = {{10, 64}};
  PlanOptions options{.strategy = "exchange", .ranks = 16, .batch_per_rank = 2};
  EXPECT_DOUBLE_EQ(measure_imbalance(options, lengths, 2).bytes_per_step, 15 * 2 * 10 * 5);
  options.strategy = "stratified+presort";
  EXPECT_DOUBLE_EQ(measure_imbalance(options, lengths, 2).bytes_per_step, 7 * 2 * 10 * 5);
  options.strategy = "planned";
  EXPECT_EQ(measure_imbalance(options, lengths, 2).bytes_per_step, 0);
}

// The strategies' order and sizes at 1024 ranks of 16 samples, from an independent simulation.
TEST(Imbalance, MatchesTheSimulationForEveryStrategy) {
  EXPECT_NEAR(measure("random", 1024, 10).mean_imbalance, 1.56, 0.05);
  EXPECT_NEAR(measure("stratified", 1024, 10).mean_imbalance, 1.096, 0.02);
  EXPECT_NEAR(measure("stratified+presort", 1024, 10).mean_imbalance, 1.043, 0.015);
  EXPECT_NEAR(measure("exchange", 1024, 10).mean_imbalance, 1.005, 0.004);
}

TEST(Imbalance, IsAtMostThreeThousandthsForPlanned) {
  EXPECT_LE(measure("planned", 1024, 20).p99_imbalance, 1.003);
  EXPECT_LE(measure("planned", 4096, 5).p99_imbalance, 1.003);
}

TEST(Imbalance, IsWithinAThousandthOfTheNodeBoundForPlanned) {
  const auto report = measure("planned", 1024, 20, 8);
  EXPECT_GT(report.mean_group_bound, 1.0);
  EXPECT_LE(report.mean_imbalance, report.mean_group_bound * 1.001);
}

TEST(Imbalance, RefusesToMeasureNoSteps) {
  EXPECT_THROW(measure_imbalance({}, std::vector<LengthCount>{{1, 1}}, 0), Error);
}

}  // namespace
}  // namespace strata::loadbalance
