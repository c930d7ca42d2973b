#include "loadbalance/plans/epoch_sampler.h"

#include <algorithm>
#include <array>
#include <utility>

namespace strata::loadbalance {

EpochSampler::EpochSampler(std::vector<Sample> cards, uint64_t seed)
    : cards_(std::move(cards)), random_(seed) {}

void EpochSampler::deal(std::span<Sample> hand) {
  while (!hand.empty()) {
    if (remaining() == 0) dealt_ = 0;
    const size_t count = std::min(hand.size(), remaining());
    deal_from_this_round(hand.first(count));
    hand = hand.subspan(count);
  }
}

// Places are drawn some cards ahead, so that memory fetches them all at once.
void EpochSampler::deal_from_this_round(std::span<Sample> hand) {
  std::array<size_t, 32> places;
  while (!hand.empty()) {
    const size_t count = std::min(hand.size(), places.size());
    for (size_t i = 0; i < count; ++i) {
      places[i] = dealt_ + i + random_.below(static_cast<uint32_t>(remaining() - i));
      __builtin_prefetch(&cards_[places[i]], 1);
    }
    for (size_t i = 0; i < count; ++i) {
      std::swap(cards_[dealt_], cards_[places[i]]);
      hand[i] = cards_[dealt_++];
    }
    hand = hand.subspan(count);
  }
}

}  // namespace strata::loadbalance
