#include "loadbalance/plans/stratified_plan.h"

#include <algorithm>

#include "base/error.h"
#include "tests/loadbalance/plan_checks.h"
#include "tests/support/matchers.h"

namespace strata::loadbalance {
namespace {

std::vector<int> counts_per_stratum(std::span<const uint32_t> local_batch, const Lengths& lengths) {
  std::vector<int> counts(4);
  for (const uint32_t sample : local_batch) ++counts[(lengths[sample] - 1) / 128];
  return counts;
}

// MLPerf Wikipedia's shares at 16 samples per rank.
TEST(StratifiedPlan, EveryLocalBatchHoldsWholeSharesExactly) {
  const std::vector<LengthCount> histogram = {{100, 600}, {200, 300}, {300, 200}, {512, 500}};
  const SamplesByLength samples(histogram);
  Lengths lengths;
  for (uint32_t i = 0; i < samples.size(); ++i) {
    lengths.push_back(static_cast<uint16_t>(samples.length_of(i)));
  }
  StratifiedPlan plan({.ranks = 7, .batch_per_rank = 16, .seed = 3}, histogram_of(lengths));
  for (int step = 0; step < 50; ++step) {
    const auto batch = plan.next_step();
    for (int rank = 0; rank < 7; ++rank) {
      EXPECT_EQ(counts_per_stratum(batch.subspan(rank * 16, 16), lengths),
                (std::vector<int>{6, 3, 2, 5}));
    }
  }
}

TEST(StratifiedPlan, EveryLocalBatchIsWithinOneOfFractionalShares) {
  Random random(9);
  for (int trial = 0; trial < 100; ++trial) {
    const int ranks = 1 + static_cast<int>(random.below(6));
    const int batch = 1 + static_cast<int>(random.below(24));
    const auto lengths = random_lengths(ranks * batch + random.below(300), trial);
    std::vector<double> share(4);
    for (const int32_t length : lengths) {
      share[(length - 1) / 128] += static_cast<double>(batch) / static_cast<double>(lengths.size());
    }
    StratifiedPlan plan({.ranks = ranks, .batch_per_rank = batch, .seed = 3},
                        histogram_of(lengths));
    for (int step = 0; step < 40; ++step) {
      const auto drawn = plan.next_step();
      for (int rank = 0; rank < ranks; ++rank) {
        const auto counts = counts_per_stratum(drawn.subspan(rank * batch, batch), lengths);
        for (int k = 0; k < 4; ++k) {
          ASSERT_LT(std::abs(counts[k] - share[k]), 1.0 + 1e-9) << "trial " << trial;
        }
      }
    }
  }
}

TEST(StratifiedPlan, ASampleAboveTheLastBoundIsNamed) {
  const std::vector<LengthCount> histogram = {{5, 1}, {513, 1}};
  try {
    StratifiedPlan plan({}, histogram);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(std::string(error.what()), HasSubstr("has 513 tokens"));
  }
}

}  // namespace
}  // namespace strata::loadbalance
