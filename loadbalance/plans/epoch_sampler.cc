#include "loadbalance/plans/epoch_sampler.h"

#include <algorithm>
#include <array>
#include <new>

namespace strata::loadbalance {

EpochSampler::EpochSampler(uint32_t first, uint32_t count, uint64_t seed)
    : first_(first),
      count_(count),
      deck_(static_cast<uint32_t*>(std::calloc(count, sizeof(uint32_t)))),
      random_(seed) {
  if (!deck_) throw std::bad_alloc();
  if (count > kSmall) shuffle_.emplace(count);
}

void EpochSampler::deal(std::span<uint32_t> hand) {
  while (!hand.empty()) {
    if (remaining() == 0) {
      dealt_ = 0;
      shuffle_.reset();  // all numbers have been dealt; deck_ holds their order
    }
    const size_t count = std::min<size_t>(hand.size(), remaining());
    deal_from_this_epoch(hand.first(count));
    hand = hand.subspan(count);
  }
}

// Draws several positions ahead, so that memory fetches them all at once.
void EpochSampler::deal_from_this_epoch(std::span<uint32_t> hand) {
  std::array<uint32_t, 32> places;
  while (!hand.empty()) {
    const auto count = static_cast<uint32_t>(std::min(hand.size(), places.size()));
    for (uint32_t i = 0; i < count; ++i) {
      places[i] = dealt_ + i + random_.below(remaining() - i);
      if (shuffle_) {
        shuffle_->prefetch(places[i]);
      } else {
        __builtin_prefetch(&deck_[places[i]], 1);
      }
    }
    for (uint32_t i = 0; i < count; ++i) hand[i] = first_ + draw(places[i]);
    hand = hand.subspan(count);
  }
}

uint32_t EpochSampler::draw(uint32_t place) {
  uint32_t drawn;
  if (shuffle_) {
    const uint32_t here = shuffle_->take();
    drawn = place == dealt_ ? here : shuffle_->exchange(place, here);
  } else {
    const uint32_t here = deck_[dealt_] ^ dealt_;
    drawn = deck_[place] ^ place;
    deck_[place] = here ^ place;
  }
  deck_[dealt_] = drawn ^ dealt_;
  ++dealt_;
  return drawn;
}

}  // namespace strata::loadbalance
