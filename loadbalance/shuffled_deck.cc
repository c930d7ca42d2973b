#include "loadbalance/shuffled_deck.h"

#include <algorithm>
#include <utility>

namespace strata::loadbalance {

ShuffledDeck::ShuffledDeck(std::vector<uint32_t> cards, uint64_t seed)
    : cards_(std::move(cards)), random_(seed) {}

void ShuffledDeck::deal(std::span<uint32_t> hand) {
  while (!hand.empty()) {
    if (remaining() == 0) dealt_ = 0;
    const size_t count = std::min(hand.size(), remaining());
    deal_from_this_round(hand.first(count));
    hand = hand.subspan(count);
  }
}

void ShuffledDeck::deal_from_this_round(std::span<uint32_t> hand) {
  for (uint32_t& card : hand) {
    std::swap(cards_[dealt_], cards_[dealt_ + random_.below(static_cast<uint32_t>(remaining()))]);
    card = cards_[dealt_++];
  }
}

}  // namespace strata::loadbalance
