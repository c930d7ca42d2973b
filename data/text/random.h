// Small reproducible random numbers: the same seed gives the same data on every platform, which the
// distributions of the standard library do not promise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace strata::data {

// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  // One independent stream for every list of keys, for example (seed, duplicate, document).
  explicit Random(std::initializer_list<uint64_t> keys) {
    for (const uint64_t key : keys) state_ = mix(state_ + key + kIncrement);
  }

  // The published generator, started at `state`.
  static Random from_state(uint64_t state) {
    Random random({});
    random.state_ = state;
    return random;
  }

  uint64_t next() { return mix(state_ += kIncrement); }

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

  bool chance(double probability) {
    return static_cast<double>(next() >> 11) * 0x1p-53 < probability;
  }

 private:
  static constexpr uint64_t kIncrement = 0x9e3779b97f4a7c15;
  static constexpr uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t state_ = 0;
};

// Fisher and Yates, from the last item on, as Python's random.shuffle.
template <typename Item, typename Generator>
void shuffle(std::vector<Item>& items, Generator& random) {
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

}  // namespace strata::data
