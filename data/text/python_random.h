// Python's random.Random: the same numbers from the same seed, so that data of published Python
// programs can be reproduced.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata::data {

// MT19937 (Matsumoto, Nishimura 1998), seeded and read as in CPython (Modules/_randommodule.c,
// Lib/random.py; versions 3.2 and newer).
class PythonRandom {
 public:
  explicit PythonRandom(uint64_t seed);

  uint32_t next() {
    if (used_ == words_.size()) refill();
    return words_[used_++];
  }

  // Like random(): 53 bits, in [0, 1).
  double uniform() {
    const uint32_t high = next() >> 5, low = next() >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }

  // Like randrange(bound), 0 < bound < 2^32.
  uint64_t below(uint64_t bound) {
    const int unused_bits = 32 - std::bit_width(bound);
    for (;;) {
      const uint64_t value = next() >> unused_bits;
      if (value < bound) return value;
    }
  }

  // Like randint(low, high), both included.
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low) + 1));
  }

  bool chance(double probability) { return uniform() < probability; }

  // Like shuffle(items), fewer than 2^32 items: swaps item i - 1 with item below(i), from the last
  // on. If below() would reject a draw, swaps item i - 1 with itself, which is cheaper than an
  // unpredictable branch.
  template <typename Item>
  void shuffle(std::span<Item> items) {
    for (size_t i = items.size(); i > 1;) {
      const size_t least = std::bit_floor(i);  // smallest index that takes as many bits
      const int unused_bits = 32 - std::bit_width(i);
      while (i >= least) {
        if (used_ == words_.size()) refill();
        size_t used = used_;
        for (; used < words_.size() && i >= least; ++used) {
          const size_t drawn = words_[used] >> unused_bits;
          const bool fits = drawn < i;
          const size_t other = fits ? drawn : i - 1;
          const Item moved = items[i - 1];
          items[i - 1] = items[other];
          items[other] = moved;
          i -= fits;
        }
        used_ = used;
      }
    }
  }

 private:
  void refill();

  std::array<uint32_t, 624> state_;
  std::array<uint32_t, 624> words_;  // outputs of next() for this state
  size_t used_ = 624;
};

template <typename Item>
void shuffle(std::vector<Item>& items, PythonRandom& random) {
  random.shuffle(std::span(items));
}

}  // namespace strata::data
