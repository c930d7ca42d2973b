#include "loadbalance/shuffled_deck.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

namespace strata::loadbalance {
namespace {

TEST(ShuffledDeck, DealsEveryCardOnceARoundHoweverHandsAreCut) {
  ShuffledDeck deck({4, 8, 15, 16, 23, 42, 99}, 1);
  std::vector<uint32_t> dealt(7 * 6);
  size_t begin = 0;
  for (const size_t hand : {0, 1, 2, 3, 7, 14, 15}) {
    deck.deal(std::span(dealt).subspan(begin, hand));
    begin += hand;
  }
  ASSERT_EQ(begin, dealt.size());
  for (size_t round = 0; round < 6; ++round) {
    std::vector<uint32_t> cards(dealt.begin() + round * 7, dealt.begin() + round * 7 + 7);
    std::sort(cards.begin(), cards.end());
    EXPECT_EQ(cards, (std::vector<uint32_t>{4, 8, 15, 16, 23, 42, 99}));
  }
}

// Chi-square over the 24 orders of 4 cards, in later rounds too: 23 degrees of freedom, 49.7 is the
// 99.9 % quantile.
TEST(ShuffledDeck, AllOrdersAreEquallyLikely) {
  constexpr int kRounds = 24000;
  ShuffledDeck deck({0, 1, 2, 3}, 5);
  std::map<std::vector<uint32_t>, int> seen;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<uint32_t> hand(4);
    deck.deal(hand);
    ++seen[hand];
  }
  ASSERT_EQ(seen.size(), 24u);
  double chi_square = 0;
  for (const auto& [order, count] : seen) {
    chi_square += (count - kRounds / 24.0) * (count - kRounds / 24.0) / (kRounds / 24.0);
  }
  EXPECT_LT(chi_square, 49.7);
}

// Fixed for ever: plans must be the same on every machine and in every version.
TEST(ShuffledDeck, OrderIsAFunctionOfTheSeedAlone) {
  std::vector<uint32_t> cards(10), first(10), other(10);
  std::iota(cards.begin(), cards.end(), 0u);
  ShuffledDeck(cards, 7).deal(first);
  ShuffledDeck(cards, 8).deal(other);
  EXPECT_EQ(first, (std::vector<uint32_t>{3, 1, 9, 7, 6, 4, 0, 5, 8, 2}));
  EXPECT_NE(other, first);
}

}  // namespace
}  // namespace strata::loadbalance
