// Endless drawing without replacement.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>

#include "loadbalance/plans/sparse_shuffle.h"
#include "loadbalance/random.h"

namespace strata::loadbalance {

// Deals `count` consecutive numbers in random order, again and again; one pass over them is an
// epoch. Their order, the deck, is shuffled lazily as numbers are dealt (Fisher-Yates), and only
// memory of moved numbers is touched. So neither the start nor a step waits for a large deck. In
// the first epoch of a large deck, moved numbers are kept in a small table (sparse shuffle).
class EpochSampler {
 public:
  // Decks of at most this size are shuffled in place from the start.
  static constexpr uint32_t kSmall = 1 << 20;

  // Deals the numbers [first, first + count). Requires count >= 1.
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
  // Returns the next number, drawn from position `place`.
  uint32_t draw(uint32_t place);

  uint32_t first_, count_, dealt_ = 0;
  // [count]: the number at each position of the deck, minus `first_`, XOR the position. Zero pages
  // are the unshuffled deck.
  std::unique_ptr<uint32_t[], Free> deck_;
  // If present, holds the positions from dealt_ on in place of deck_.
  std::optional<SparseShuffle> shuffle_;
  Random random_;
};

}  // namespace strata::loadbalance
