#include "loadbalance/plans/epoch_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

namespace strata::loadbalance {
namespace {

std::vector<Sample> cards_of(std::span<const uint32_t> numbers) {
  std::vector<Sample> cards;
  for (const uint32_t number : numbers) cards.push_back({number, 1000 + number});
  return cards;
}

// The next cards, each of which must have kept its length.
std::vector<uint32_t> deal(EpochSampler& deck, size_t count) {
  std::vector<Sample> hand(count);
  deck.deal(hand);
  std::vector<uint32_t> numbers;
  for (const Sample& card : hand) {
    EXPECT_EQ(card.length, 1000 + card.number);
    numbers.push_back(card.number);
  }
  return numbers;
}

TEST(EpochSampler, DealsEveryCardOnceARoundHoweverHandsAreCut) {
  std::vector<uint32_t> numbers(70);
  std::iota(numbers.begin(), numbers.end(), 4u);
  EpochSampler deck(cards_of(numbers), 1);
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

// Chi-square over the 24 orders of 4 cards, in later rounds too: 23 degrees of freedom, 49.7 is the
// 99.9 % quantile.
TEST(EpochSampler, AllOrdersAreEquallyLikely) {
  constexpr int kRounds = 24000;
  EpochSampler deck(cards_of(std::vector<uint32_t>{0, 1, 2, 3}), 5);
  std::map<std::vector<uint32_t>, int> seen;
  for (int round = 0; round < kRounds; ++round) ++seen[deal(deck, 4)];
  ASSERT_EQ(seen.size(), 24u);
  double chi_square = 0;
  for (const auto& [order, count] : seen) {
    chi_square += (count - kRounds / 24.0) * (count - kRounds / 24.0) / (kRounds / 24.0);
  }
  EXPECT_LT(chi_square, 49.7);
}

// Fixed for ever: plans must be the same on every machine and in every version.
TEST(EpochSampler, OrderIsAFunctionOfTheSeedAlone) {
  std::vector<uint32_t> numbers(10);
  std::iota(numbers.begin(), numbers.end(), 0u);
  EpochSampler deck(cards_of(numbers), 7), other(cards_of(numbers), 8);
  const std::vector<uint32_t> first = deal(deck, 10);
  EXPECT_EQ(first, (std::vector<uint32_t>{3, 1, 9, 7, 6, 4, 0, 5, 8, 2}));
  EXPECT_NE(deal(other, 10), first);
}

}  // namespace
}  // namespace strata::loadbalance
