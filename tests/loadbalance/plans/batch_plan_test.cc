#include "loadbalance/plans/batch_plan.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "tests/loadbalance/plan_checks.h"
#include "tests/support/matchers.h"

namespace strata::loadbalance {
namespace {

class EveryStrategy : public testing::TestWithParam<std::string> {
 protected:
  PlanOptions options(int ranks, int batch, uint64_t seed = 11) const {
    return {.strategy = GetParam(), .ranks = ranks, .batch_per_rank = batch, .seed = seed};
  }
};

std::string test_name(const testing::TestParamInfo<std::string>& strategy) {
  std::string name = strategy.param;
  std::replace(name.begin(), name.end(), '+', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Plans, EveryStrategy, testing::ValuesIn(strategies()), test_name);

// Returns a plan with random ranks, batch, strata and groups.
PlanOptions any_plan(const std::string& strategy, Random& random) {
  PlanOptions plan{.strategy = strategy,
                   .ranks = 1 + static_cast<int>(random.below(20)),
                   .batch_per_rank = 1 + static_cast<int>(random.below(20)),
                   .seed = random.next(),
                   .strata_bounds = {},
                   .group_ranks = static_cast<int>(random.below(5))};
  for (int bound = 0; bound < 512;) {
    bound = std::min<int>(512, bound + 1 + static_cast<int>(random.below(400)));
    plan.strata_bounds.push_back(bound);
  }
  return plan;
}

// "Exactly once per epoch", stated for batches that straddle epochs, in any order within an epoch.
TEST_P(EveryStrategy, DrawsOfTwoSamplesNeverDifferByTwo) {
  Random random(1);
  for (int trial = 0; trial < 150; ++trial) {
    const PlanOptions plan = any_plan(GetParam(), random);
    const size_t global_batch = static_cast<size_t>(plan.ranks * plan.batch_per_rank);
    const size_t samples = global_batch + random.below(500);
    const auto lengths = random_lengths(samples, static_cast<uint64_t>(trial));
    const auto batches = make_batch_plan(plan, histogram_of(lengths));
    std::vector<size_t> drawn(samples);
    for (size_t step = 1; step * global_batch < 4 * samples; ++step) {
      for (const uint32_t sample : batches->next_step()) ++drawn.at(sample);
      const auto [least, most] = std::minmax_element(drawn.begin(), drawn.end());
      ASSERT_EQ(*least, step * global_batch / samples) << "trial " << trial << " step " << step;
      ASSERT_LE(*most, *least + 1) << "trial " << trial << " step " << step;
    }
  }
}

class EveryDrawingStrategy : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Plans, EveryDrawingStrategy, testing::Values("random", "stratified"),
                         test_name);

// Strategies that only draw also keep the order: an epoch is `samples` consecutive draws.
TEST_P(EveryDrawingStrategy, DrawsEverySampleOnceAnEpoch) {
  Random random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const PlanOptions plan = any_plan(GetParam(), random);
    const size_t samples =
        static_cast<size_t>(plan.ranks * plan.batch_per_rank) + random.below(500);
    constexpr size_t kEpochs = 5;
    const auto lengths = random_lengths(samples, static_cast<uint64_t>(trial));
    const auto drawn = draw(plan, lengths, samples * kEpochs);
    for (size_t epoch = 0; epoch < kEpochs; ++epoch) {
      std::vector<uint32_t> sorted(drawn.begin() + static_cast<ptrdiff_t>(epoch * samples),
                                   drawn.begin() + static_cast<ptrdiff_t>((epoch + 1) * samples));
      std::sort(sorted.begin(), sorted.end());
      for (uint32_t i = 0; i < samples; ++i) {
        ASSERT_EQ(sorted[i], i) << "trial " << trial << " epoch " << epoch;
      }
    }
  }
}

// Asserts that for 60 steps two plans hold the same samples in the same groups of `group` samples.
void expect_the_same_groups(const PlanOptions& a, const PlanOptions& b, size_t group) {
  const auto lengths = random_lengths(5000, 4);
  const auto first = make_batch_plan(a, histogram_of(lengths)),
             second = make_batch_plan(b, histogram_of(lengths));
  for (int step = 0; step < 60; ++step) {
    const auto x = first->next_step(), y = second->next_step();
    std::vector<uint32_t> left(x.begin(), x.end()), right(y.begin(), y.end());
    for (size_t begin = 0; begin < left.size(); begin += group) {
      std::sort(left.begin() + begin, left.begin() + begin + group);
      std::sort(right.begin() + begin, right.begin() + begin + group);
    }
    ASSERT_EQ(left, right) << b.strategy << " step " << step;
  }
}

// The loss of a fixed global batch must not depend on the assignment.
TEST(BatchPlan, AssignmentLeavesTheGlobalBatchAsItWasDrawn) {
  PlanOptions drawn{.strategy = "random", .ranks = 12, .batch_per_rank = 16, .seed = 8};
  PlanOptions assigned = drawn;
  assigned.strategy = "exchange";
  expect_the_same_groups(drawn, assigned, 12 * 16);
  drawn.strategy = "stratified";
  assigned.strategy = "stratified+presort";
  assigned.group_ranks = 3;
  expect_the_same_groups(drawn, assigned, 3 * 16);
}

// A planned group is one stratified draw for all of its ranks, and its samples stay in it.
TEST(BatchPlan, APlannedGroupSharesOneStratifiedBatch) {
  PlanOptions drawn{.strategy = "stratified", .ranks = 1, .batch_per_rank = 12 * 16, .seed = 8};
  PlanOptions assigned{.strategy = "planned", .ranks = 12, .batch_per_rank = 16, .seed = 8};
  expect_the_same_groups(drawn, assigned, 12 * 16);
  drawn.ranks = 4;
  drawn.batch_per_rank = 3 * 16;
  assigned.group_ranks = 3;
  expect_the_same_groups(drawn, assigned, 3 * 16);
  // With groups of 8 and 4 ranks, draws are for 4 ranks, and the first group holds two of them.
  drawn.ranks = 3;
  drawn.batch_per_rank = 4 * 16;
  assigned.group_ranks = 8;
  expect_the_same_groups(drawn, assigned, 12 * 16);
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
// chi-square test per sample with 11 degrees of freedom. The sum over the 96 samples of the second
// epoch has at most 96 * 11 = 1056 degrees, with a 99.9 % quantile of 1202.
TEST_P(EveryStrategy, EverySampleIsEquallyLikelyInEveryStep) {
  constexpr int kSeeds = 1200, kSteps = 12, kBatch = 8, kSamples = kSteps * kBatch;
  Lengths lengths(kSamples);
  for (int i = 0; i < kSamples; ++i) lengths[i] = static_cast<uint16_t>(1 + i * 512 / kSamples);
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
  const auto histogram = histogram_of(random_lengths(100, 2));
  EXPECT_THROW(make_batch_plan(options(101, 1), histogram), Error);
  EXPECT_THROW(make_batch_plan(options(0, 1), histogram), Error);
  EXPECT_THROW(make_batch_plan(options(1, 0), histogram), Error);
  PlanOptions falling = options(1, 1);
  falling.strata_bounds = {128, 128};
  EXPECT_THROW(make_batch_plan(falling, histogram), Error);
  falling.strata_bounds = {};
  EXPECT_THROW(make_batch_plan(falling, histogram), Error);
  PlanOptions odd = options(1, 1);
  odd.group_ranks = -1;
  EXPECT_THROW(make_batch_plan(odd, histogram), Error);
  odd = options(1, 4);
  odd.micro_batches = 3;
  EXPECT_THROW(make_batch_plan(odd, histogram), Error);
  odd = options(1, 1);
  odd.cost = {0, 0};
  EXPECT_THROW(make_batch_plan(odd, histogram), Error);
}

TEST(BatchPlan, AnUnknownStrategyIsNamed) {
  try {
    make_batch_plan({.strategy = "fair"}, histogram_of(random_lengths(1, 1)));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(std::string(error.what()), HasSubstr("\"fair\" is unknown"));
  }
}

}  // namespace
}  // namespace strata::loadbalance
