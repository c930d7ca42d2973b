#include "loadbalance/cost_balancer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/loadbalance/plan_checks.h"

namespace strata::loadbalance {
namespace {

double heaviest(std::span<const uint32_t> batches, int ranks, std::span<const uint16_t> lengths,
                const CostModel& model) {
  const size_t per_rank = batches.size() / static_cast<size_t>(ranks);
  double result = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    double cost = 0;
    for (const uint32_t sample : batches.subspan(rank * per_rank, per_rank)) {
      cost += model.cost(lengths[sample]);
    }
    result = std::max(result, cost);
  }
  return result;
}

std::vector<uint32_t> first_samples(size_t count) {
  std::vector<uint32_t> samples(count);
  std::iota(samples.begin(), samples.end(), 0u);
  return samples;
}

TEST(CostBalancer, GivesEveryRankEquallyManyAndEverySampleOnce) {
  const auto lengths = compact_lengths(random_lengths(70, 3));
  CostBalancer balancer(lengths, {});
  std::vector<uint32_t> batches(70);
  for (const int ranks : {1, 2, 5, 7, 10, 70}) {
    balancer.assign(first_samples(70), ranks, batches);
    std::vector<uint32_t> sorted = batches;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, first_samples(70)) << ranks;
  }
}

// Every split of 8 samples between 2 ranks: at most 5 % above the best, and mostly the best.
TEST(CostBalancer, IsCloseToTheBestOfAllSplits) {
  const CostModel model;
  int best_found = 0;
  constexpr int kTrials = 200;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto lengths = compact_lengths(random_lengths(8, static_cast<uint64_t>(trial)));
    double best = std::numeric_limits<double>::max();
    std::vector<bool> first = {true, true, true, true, false, false, false, false};
    do {
      std::vector<uint32_t> split;
      for (const bool side : {true, false}) {
        for (uint32_t i = 0; i < 8; ++i) {
          if (first[i] == side) split.push_back(i);
        }
      }
      best = std::min(best, heaviest(split, 2, lengths, model));
    } while (std::prev_permutation(first.begin(), first.end()));
    CostBalancer balancer(lengths, model);
    std::vector<uint32_t> batches(8);
    balancer.assign(first_samples(8), 2, batches);
    const double found = heaviest(batches, 2, lengths, model);
    ASSERT_LE(found, 1.05 * best) << "trial " << trial;
    best_found += found <= best * (1 + 1e-9);
  }
  EXPECT_GT(best_found, kTrials / 2);
}

// Attention makes one long sample dearer than two of half its length.
TEST(CostBalancer, BalancesCostRatherThanTokens) {
  const std::vector<uint16_t> lengths = {512, 256, 256, 1};
  CostBalancer balancer(lengths, {.linear = 0, .quadratic = 1});
  std::vector<uint32_t> batches(4);
  balancer.assign(first_samples(4), 2, batches);
  EXPECT_EQ(batches, (std::vector<uint32_t>{0, 3, 1, 2}));
}

}  // namespace
}  // namespace strata::loadbalance
