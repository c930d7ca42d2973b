// Python's random.Random: the same numbers from the same seed, so that data made by published
// Python programs can be made again.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace strata::data {

// MT19937 (Matsumoto, Nishimura 1998), seeded and read as CPython does (Modules/_randommodule.c,
// Lib/random.py; versions 3.2 and newer).
class PythonRandom {
 public:
  explicit PythonRandom(uint64_t seed);

  uint32_t next();

  // random(): 53 bits, in [0, 1).
  double uniform() {
    const uint32_t high = next() >> 5, low = next() >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }

  // randrange(bound), 0 < bound < 2^32.
  uint64_t below(uint64_t bound) {
    const int unused_bits = 32 - std::bit_width(bound);
    for (;;) {
      const uint64_t value = next() >> unused_bits;
      if (value < bound) return value;
    }
  }

  // randint(low, high), both included.
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low) + 1));
  }

  bool chance(double probability) { return uniform() < probability; }

 private:
  void refill();

  std::array<uint32_t, 624> state_;
  size_t used_ = 624;
};

}  // namespace strata::data
