#include "loadbalance/batch_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "tests/loadbalance/plan_checks.h"

namespace strata::loadbalance {
namespace {

class EveryStrategy : public testing::TestWithParam<std::string> {
 protected:
  PlanOptions options(int ranks, int batch, uint64_t seed = 11) const {
    return {.strategy = GetParam(), .ranks = ranks, .batch_per_rank = batch, .seed = seed};
  }
};

INSTANTIATE_TEST_SUITE_P(Plans, EveryStrategy, testing::Values("random", "stratified"),
                         [](const auto& param) { return param.param; });

TEST_P(EveryStrategy, DrawsEverySampleOnceAnEpochForAnyRanksBatchAndStrata) {
  Random random(1);
  for (int trial = 0; trial < 300; ++trial) {
    PlanOptions plan = options(1 + static_cast<int>(random.below(9)),
                               1 + static_cast<int>(random.below(20)), trial);
    const size_t samples = plan.ranks * plan.batch_per_rank + random.below(500);
    plan.strata_bounds.clear();
    for (int bound = 0; bound < 512;) {
      bound = std::min<int>(512, bound + 1 + static_cast<int>(random.below(400)));
      plan.strata_bounds.push_back(bound);
    }
    constexpr size_t kEpochs = 5;
    const auto lengths = random_lengths(samples, trial);
    const auto drawn = draw(plan, lengths, samples * kEpochs);
    for (size_t epoch = 0; epoch < kEpochs; ++epoch) {
      std::vector<uint32_t> sorted(drawn.begin() + epoch * samples,
                                   drawn.begin() + (epoch + 1) * samples);
      std::sort(sorted.begin(), sorted.end());
      for (uint32_t i = 0; i < samples; ++i) {
        ASSERT_EQ(sorted[i], i) << "trial " << trial << " epoch " << epoch;
      }
    }
  }
}

TEST_P(EveryStrategy, TheSameOptionsGiveTheSamePlanAndAnotherSeedAnother) {
  const auto lengths = random_lengths(1000, 2);
  EXPECT_EQ(draw(options(3, 16, 5), lengths, 3000), draw(options(3, 16, 5), lengths, 3000));
  EXPECT_NE(draw(options(3, 16, 5), lengths, 3000), draw(options(3, 16, 6), lengths, 3000));
}

TEST_P(EveryStrategy, EpochsDiffer) {
  const auto lengths = random_lengths(240, 2);
  const auto drawn = draw(options(3, 16), lengths, 480);
  EXPECT_FALSE(std::equal(drawn.begin(), drawn.begin() + 240, drawn.begin() + 240));
}

// Over many seeds, each sample falls into each of the 12 steps of an epoch equally often: a
// chi-square per sample with 11 degrees of freedom. Their sum over the 96 samples of the second
// epoch has at most 96 * 11 = 1056 degrees; 1202 is its 99.9 % quantile.
TEST_P(EveryStrategy, EverySamplesStepIsUniform) {
  constexpr int kSeeds = 1200, kSteps = 12, kBatch = 8, kSamples = kSteps * kBatch;
  std::vector<int32_t> lengths(kSamples);
  for (int i = 0; i < kSamples; ++i) lengths[i] = 1 + (i * 512 / kSamples);
  std::vector<std::vector<int>> seen(kSamples, std::vector<int>(kSteps));
  for (int seed = 0; seed < kSeeds; ++seed) {
    const auto drawn = draw(options(1, kBatch, seed), lengths, 2 * kSamples);
    for (int i = 0; i < kSamples; ++i) ++seen[drawn[kSamples + i]][i / kBatch];
  }
  double chi_square = 0;
  for (const auto& steps : seen) {
    for (const int count : steps) {
      const double expected = double{kSeeds} / kSteps;
      chi_square += (count - expected) * (count - expected) / expected;
    }
  }
  EXPECT_LT(chi_square, 1202);
}

TEST_P(EveryStrategy, ImpossiblePlansAreRefused) {
  const auto lengths = random_lengths(100, 2);
  EXPECT_THROW(make_batch_plan(options(101, 1), lengths), Error);
  EXPECT_THROW(make_batch_plan(options(0, 1), lengths), Error);
  EXPECT_THROW(make_batch_plan(options(1, 0), lengths), Error);
  PlanOptions falling = options(1, 1);
  falling.strata_bounds = {128, 128};
  EXPECT_THROW(make_batch_plan(falling, lengths), Error);
  falling.strata_bounds = {};
  EXPECT_THROW(make_batch_plan(falling, lengths), Error);
}

TEST(BatchPlan, AnUnknownStrategyIsNamed) {
  try {
    make_batch_plan({.strategy = "fair"}, random_lengths(1, 1));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("\"fair\" is unknown"), std::string::npos);
  }
}

}  // namespace
}  // namespace strata::loadbalance
