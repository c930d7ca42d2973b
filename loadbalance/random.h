// Platform-independent random numbers for plans: the same seed gives the same plan everywhere.
#pragma once

#include <cstdint>

#include "base/numbers/random.h"

namespace strata::loadbalance {

class Random {
 public:
  explicit Random(uint64_t seed) : generator_(seed) {}

  uint64_t next() { return generator_.next(); }

  // Uniform in [0, bound), without bias (Lemire, "Fast random integer generation in an interval",
  // ACM TOMACS 2019). bound > 0.
  uint32_t below(uint32_t bound) {
    uint64_t product = (next() >> 32) * bound;
    if (static_cast<uint32_t>(product) < bound) {
      const uint32_t threshold = (0u - bound) % bound;
      while (static_cast<uint32_t>(product) < threshold) product = (next() >> 32) * bound;
    }
    return static_cast<uint32_t>(product >> 32);
  }

 private:
  SplitMix64 generator_;
};

}  // namespace strata::loadbalance
