// SplitMix64 (Steele, Lea & Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014),
// with the same numbers on every platform.
#pragma once

#include <cstdint>

namespace strata {

inline constexpr uint64_t kSplitMix64Increment = 0x9e3779b97f4a7c15ull;

// Returns the number that follows state `x`; also a good hash of `x`.
constexpr uint64_t splitmix64(uint64_t x) {
  x += kSplitMix64Increment;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Converts 64 random bits to a number in [0, 1).
constexpr double unit_interval(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

class SplitMix64 {
 public:
  explicit constexpr SplitMix64(uint64_t state) : state_(state) {}

  constexpr uint64_t next() {
    const uint64_t state = state_;
    state_ += kSplitMix64Increment;
    return splitmix64(state);
  }

 private:
  uint64_t state_;
};

}  // namespace strata
