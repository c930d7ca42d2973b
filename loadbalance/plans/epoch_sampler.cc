#include "loadbalance/plans/epoch_sampler.h"

#include <algorithm>
#include <array>
#include <new>

namespace strata::loadbalance {

EpochSampler::EpochSampler(uint32_t first, uint32_t count, uint64_t seed)
    : first_(first),
      count_(count),
      moved_(static_cast<uint32_t*>(std::calloc(count, sizeof(uint32_t)))),
      random_(seed) {
  if (!moved_) throw std::bad_alloc();
}

void EpochSampler::deal(std::span<uint32_t> hand) {
  while (!hand.empty()) {
    if (remaining() == 0) dealt_ = 0;
    const size_t count = std::min<size_t>(hand.size(), remaining());
    deal_from_this_round(hand.first(count));
    hand = hand.subspan(count);
  }
}

// Places are drawn some numbers ahead, so that memory fetches them all at once.
void EpochSampler::deal_from_this_round(std::span<uint32_t> hand) {
  std::array<uint32_t, 32> places;
  while (!hand.empty()) {
    const auto count = static_cast<uint32_t>(std::min(hand.size(), places.size()));
    for (uint32_t i = 0; i < count; ++i) {
      places[i] = dealt_ + i + random_.below(remaining() - i);
      __builtin_prefetch(&moved_[places[i]], 1);
    }
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t here = moved_[dealt_] ^ dealt_, drawn = moved_[places[i]] ^ places[i];
      moved_[places[i]] = here ^ places[i];
      moved_[dealt_] = drawn ^ dealt_;
      ++dealt_;
      hand[i] = first_ + drawn;
    }
    hand = hand.subspan(count);
  }
}

}  // namespace strata::loadbalance
