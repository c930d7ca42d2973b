#include "loadbalance/plans/epoch_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

namespace strata::loadbalance {
namespace {

std::vector<uint32_t> deal(EpochSampler& deck, size_t count) {
  std::vector<uint32_t> hand(count);
  deck.deal(hand);
  return hand;
}

TEST(EpochSampler, DealsEveryNumberOncePerRoundInHandsOfAnySize) {
  std::vector<uint32_t> numbers(70);
  std::iota(numbers.begin(), numbers.end(), 4u);
  EpochSampler deck(4, 70, 1);
  std::vector<uint32_t> dealt;
  for (const size_t hand : {0, 1, 2, 3, 63, 1, 31, 32, 33, 44, 140, 70}) {
    const std::vector<uint32_t> cards = deal(deck, hand);
    dealt.insert(dealt.end(), cards.begin(), cards.end());
  }
  ASSERT_EQ(dealt.size(), 6 * numbers.size());
  for (auto round = dealt.begin(); round != dealt.end(); round += 70) {
    std::sort(round, round + 70);
    EXPECT_TRUE(std::equal(numbers.begin(), numbers.end(), round));
  }
}

// Chi-square test over the 24 orders of 4 cards, also in later rounds: 23 degrees of freedom, with
// a 99.9 % quantile of 49.7.
TEST(EpochSampler, AllOrdersAreEquallyLikely) {
  constexpr int kRounds = 24000;
  EpochSampler deck(0, 4, 5);
  std::map<std::vector<uint32_t>, int> seen;
  for (int round = 0; round < kRounds; ++round) ++seen[deal(deck, 4)];
  ASSERT_EQ(seen.size(), 24u);
  double chi_square = 0;
  for (const auto& [order, count] : seen) {
    chi_square += (count - kRounds / 24.0) * (count - kRounds / 24.0) / (kRounds / 24.0);
  }
  EXPECT_LT(chi_square, 49.7);
}

// These values must never change: plans must be the same on every machine and in every version.
TEST(EpochSampler, OrderIsAFunctionOfTheSeedAlone) {
  EpochSampler deck(0, 10, 7), other(0, 10, 8);
  const std::vector<uint32_t> first = deal(deck, 10);
  EXPECT_EQ(first, (std::vector<uint32_t>{3, 1, 9, 7, 6, 4, 0, 5, 8, 2}));
  EXPECT_NE(deal(other, 10), first);
}

// Decks of any size have the same order as if shuffled in place, also in later rounds.
TEST(EpochSampler, LargeDecksAreDealtAsIfShuffledInPlace) {
  constexpr uint64_t kSeed = 11;
  for (const uint32_t count : {EpochSampler::kSmall, EpochSampler::kSmall + 1, 2'500'000u}) {
    EpochSampler deck(5, count, kSeed);
    Random random(kSeed);
    std::vector<uint32_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 5u);
    for (int round = 0; round < 3; ++round) {
      for (uint32_t i = 0; i < count; ++i) {
        std::swap(numbers[i], numbers[i + random.below(count - i)]);
      }
      std::vector<uint32_t> dealt = deal(deck, count / 3);
      const std::vector<uint32_t> rest = deal(deck, count - count / 3);
      dealt.insert(dealt.end(), rest.begin(), rest.end());
      ASSERT_EQ(dealt, numbers) << count << ", round " << round;
    }
  }
}

// Only numbers that were moved need memory, so a deck of four thousand million numbers is ready at
// once.
TEST(EpochSampler, ALargeDeckIsReadyAtOnce) {
  EpochSampler deck(0, 4'000'000'000, 7);
  const std::vector<uint32_t> dealt = deal(deck, 1000);
  EXPECT_GT(*std::max_element(dealt.begin(), dealt.end()), 3'900'000'000);
  std::vector<uint32_t> sorted = dealt;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::unique(sorted.begin(), sorted.end()), sorted.end());
}

}  // namespace
}  // namespace strata::loadbalance
