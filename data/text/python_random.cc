#include "data/text/python_random.h"

#include <algorithm>

namespace strata::data {
namespace {

constexpr size_t kWords = 624;
constexpr size_t kMiddle = 397;

// Returns the term that a word of the state adds to another: `high` gives the highest bit, `low`
// the others.
uint32_t twist(uint32_t high, uint32_t low) {
  const uint32_t joined = (high & 0x80000000u) | (low & 0x7fffffffu);
  return joined >> 1 ^ (0x9908b0dfu & -(low & 1));
}

}  // namespace

// The generator's init_by_array, with the seed's 32-bit words, lowest first, as the key.
PythonRandom::PythonRandom(uint64_t seed) {
  const std::array<uint32_t, 2> key{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  const size_t key_words = key[1] != 0 ? 2 : 1;
  state_[0] = 19650218;
  for (size_t i = 1; i < kWords; ++i) {
    state_[i] = 1812433253u * (state_[i - 1] ^ state_[i - 1] >> 30) + static_cast<uint32_t>(i);
  }
  size_t i = 1;
  const auto mix = [&](uint32_t factor) { return (state_[i - 1] ^ state_[i - 1] >> 30) * factor; };
  const auto advance = [&] {
    if (++i < kWords) return;
    state_[0] = state_[kWords - 1];
    i = 1;
  };
  for (size_t k = 0; k < kWords; ++k) {
    const size_t j = k % key_words;
    state_[i] = (state_[i] ^ mix(1664525)) + key[j] + static_cast<uint32_t>(j);
    advance();
  }
  for (size_t k = 1; k < kWords; ++k) {
    state_[i] = (state_[i] ^ mix(1566083941)) - static_cast<uint32_t>(i);
    advance();
  }
  state_[0] = 0x80000000u;
}

// Computes ranges whose words do not depend on each other within a vector.
void PythonRandom::refill() {
  constexpr size_t kLast = kWords - 1;
  uint32_t* const state = state_.data();
  for (size_t i = 0; i < kWords - kMiddle; ++i) {
    state[i] = state[i + kMiddle] ^ twist(state[i], state[i + 1]);
  }
  for (size_t i = kWords - kMiddle; i < kLast; ++i) {
    state[i] = state[i + kMiddle - kWords] ^ twist(state[i], state[i + 1]);
  }
  state[kLast] = state[kMiddle - 1] ^ twist(state[kLast], state[0]);
  for (size_t i = 0; i < kWords; ++i) {
    uint32_t word = state[i];
    word ^= word >> 11;
    word ^= word << 7 & 0x9d2c5680u;
    word ^= word << 15 & 0xefc60000u;
    words_[i] = word ^ word >> 18;
  }
  used_ = 0;
}

}  // namespace strata::data
