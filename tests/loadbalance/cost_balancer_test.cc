#include "loadbalance/cost_balancer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/loadbalance/plan_checks.h"

namespace strata::loadbalance {
namespace {

double heaviest(std::span<const uint32_t> batches, int ranks, const Lengths& lengths,
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

TEST(CostBalancer, GivesEveryRankEquallyManyAndEverySampleOnce) {
  const auto lengths = random_lengths(70, 3);
  CostBalancer balancer(512, {});
  std::vector<uint32_t> batches(70), every_sample(70);
  std::iota(every_sample.begin(), every_sample.end(), 0u);
  for (const int ranks : {1, 2, 5, 7, 10, 70}) {
    balancer.assign(samples_of(lengths), ranks, batches);
    std::vector<uint32_t> sorted = batches;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, every_sample) << ranks;
  }
}

// Tries every split of 8 samples between 2 ranks: at most 5 % above the best, and mostly the best.
TEST(CostBalancer, IsCloseToTheBestOfAllSplits) {
  const CostModel model;
  int best_found = 0;
  constexpr int kTrials = 200;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto lengths = random_lengths(8, static_cast<uint64_t>(trial));
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
    CostBalancer balancer(512, model);
    std::vector<uint32_t> batches(8);
    balancer.assign(samples_of(lengths), 2, batches);
    const double found = heaviest(batches, 2, lengths, model);
    ASSERT_LE(found, 1.05 * best) << "trial " << trial;
    best_found += found <= best * (1 + 1e-9);
  }
  EXPECT_GT(best_found, kTrials / 2);
}

// Half the samples are alike and one is far longer: the last rounds even out the first ones.
TEST(CostBalancer, EvensOutTheRestAfterTheLongestSample) {
  Lengths lengths(64, 100);
  lengths[5] = 160;
  for (int i = 32; i < 64; ++i) lengths[i] = static_cast<uint16_t>(40 + 2 * (i % 16));
  const CostModel tokens = {.linear = 1, .quadratic = 0};
  CostBalancer balancer(160, tokens);
  std::vector<uint32_t> batches(64);
  balancer.assign(samples_of(lengths), 4, batches);
  const double mean = std::accumulate(lengths.begin(), lengths.end(), 0.0) / 4;
  EXPECT_LE(heaviest(batches, 4, lengths, tokens), mean * 1.002);
}

// Exchanged samples keep this order, too.
TEST(CostBalancer, GivesEveryRankItsSamplesLongestFirst) {
  const auto expect_sorted = [](const Lengths& lengths, int ranks) {
    const auto per_rank = static_cast<int64_t>(lengths.size()) / ranks;
    CostBalancer balancer(512, {});
    std::vector<uint32_t> batches(lengths.size());
    balancer.assign(samples_of(lengths), ranks, batches);
    for (auto batch = batches.begin(); batch != batches.end(); batch += per_rank) {
      EXPECT_TRUE(std::is_sorted(batch, batch + per_rank,
                                 [&](uint32_t a, uint32_t b) { return lengths[a] > lengths[b]; }));
    }
  };
  expect_sorted(random_lengths(16 * 64, 4), 64);
  for (uint64_t seed = 0; seed < 100; ++seed) expect_sorted(random_lengths(4 * 8, seed), 8);
}

// Attention makes one long sample more expensive than two of half its length.
TEST(CostBalancer, BalancesCostRatherThanTokens) {
  const Lengths lengths = {512, 256, 256, 1};
  CostBalancer balancer(512, {.linear = 0, .quadratic = 1});
  std::vector<uint32_t> batches(4);
  balancer.assign(samples_of(lengths), 2, batches);
  EXPECT_EQ(batches, (std::vector<uint32_t>{0, 3, 1, 2}));
}

}  // namespace
}  // namespace strata::loadbalance
