// Drawing without replacement, for ever.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>

#include "loadbalance/plans/moved_numbers.h"
#include "loadbalance/random.h"

namespace strata::loadbalance {

// Deals `count` consecutive numbers in random order, again and again; one pass over them is an
// epoch. Their order, the deck, is shuffled number by number as they are dealt (Fisher-Yates), and
// memory is touched only where numbers have moved, so that neither the start nor a step waits for a
// large deck. Of a large one that is dealt for the first time, numbers move in a small table
// instead of all over memory.
class EpochSampler {
 public:
  // Decks of at most so many numbers are shuffled in place from the start.
  static constexpr uint32_t kSmall = 1 << 20;

  // The numbers from `first` on; at least one.
  EpochSampler(uint32_t first, uint32_t count, uint64_t seed);

  uint32_t size() const { return count_; }

  // Fills `hand` with the next numbers.
  void deal(std::span<uint32_t> hand);

 private:
  struct Free {
    void operator()(uint32_t* memory) const { std::free(memory); }
  };

  uint32_t remaining() const { return count_ - dealt_; }
  void deal_from_this_epoch(std::span<uint32_t> hand);
  // The next number, drawn from `place`.
  uint32_t draw(uint32_t place);

  uint32_t first_, count_, dealt_ = 0;
  // [count]: the number at a place of the deck, from 0, XOR the place. Zero pages are the
  // unshuffled deck.
  std::unique_ptr<uint32_t[], Free> deck_;
  std::optional<MovedNumbers> moved_;  // places from dealt_ on are those of this, not of deck_
  Random random_;
};

}  // namespace strata::loadbalance
