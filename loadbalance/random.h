// Platform-independent random numbers for plans: the same seed gives the same plan everywhere.
#pragma once

#include <cstdint>

#include "device/dropout.h"

namespace strata::loadbalance {

// SplitMix64 (Steele, Lea & Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    const uint64_t state = state_;
    state_ += 0x9e3779b97f4a7c15ull;
    return device::splitmix64(state);
  }

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
  uint64_t state_;
};

}  // namespace strata::loadbalance
