// Small reproducible random numbers. The same seed gives the same data on every platform, which the
// standard library's distributions do not guarantee.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "base/numbers/random.h"

namespace strata::data {

class Random {
 public:
  // Each list of keys has an independent stream, for example (seed, duplicate, document).
  explicit Random(std::initializer_list<uint64_t> keys) : generator_(state_of(keys)) {}

  // SplitMix64 started at `state`.
  static Random from_state(uint64_t state) {
    Random random({});
    random.generator_ = SplitMix64(state);
    return random;
  }

  uint64_t next() { return generator_.next(); }

  // Uniform in [0, bound), without bias; bound > 0.
  uint64_t below(uint64_t bound) {
    const uint64_t unbiased = UINT64_MAX - UINT64_MAX % bound;
    for (;;) {
      const uint64_t value = next();
      if (value < unbiased) return value % bound;
    }
  }

  // Uniform in [low, high], both included.
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low) + 1));
  }

  bool chance(double probability) { return unit_interval(next()) < probability; }

 private:
  static uint64_t state_of(std::initializer_list<uint64_t> keys) {
    uint64_t state = 0;
    for (const uint64_t key : keys) state = splitmix64(state + key);
    return state;
  }

  SplitMix64 generator_;
};

// Fisher-Yates shuffle from the last item on, as in Python's random.shuffle.
template <typename Item, typename Generator>
void shuffle(std::vector<Item>& items, Generator& random) {
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

}  // namespace strata::data
