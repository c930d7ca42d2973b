// Counter-based dropout. Whether an element is kept depends only on (seed, step, site, sample id,
// row, column), so a sample gets the same mask on any rank, device, batch position or thread. The
// generator is Philox4x32-7 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011).
#pragma once

#include <array>
#include <cstdint>

#include "base/numbers/random.h"
#include "device/operations/host_device.h"
#include "device/operations/step_value.h"

namespace strata::device {

// Place of dropout in the model. It is part of the key, so no two sites share a mask.
enum class DropoutSite : uint32_t {
  kEmbeddings = 0,
  kAttention = 1,
  kAttentionOutput = 2,
  kOutput = 3
};

// Keys of a step, and of one application of dropout within a step.
constexpr uint64_t dropout_step_key(uint64_t seed, uint64_t step) {
  return splitmix64(splitmix64(seed) ^ step);
}
constexpr uint64_t dropout_place(uint32_t layer, DropoutSite site) {
  return (uint64_t{layer} << 8) | static_cast<uint32_t>(site);
}

// One application of dropout to the rows of a batch. probability: in [0, 1); 0 disables it.
struct Dropout {
  float probability = 0.0f;
  StepValue<uint64_t> step_key;
  uint64_t place = 0;

  // Called by the operation, on the device.
  STRATA_HOST_DEVICE constexpr uint64_t key() const { return splitmix64(step_key.now() ^ place); }
  // An element is dropped if its 16 random bits are below this 16-bit threshold.
  STRATA_HOST_DEVICE constexpr uint32_t threshold() const {
    const auto nearest = static_cast<uint32_t>(probability * 65536.0f + 0.5f);
    return nearest < 65535u ? nearest : 65535u;
  }
  // Returns the factor of kept elements: the inverse of the exact fraction kept.
  STRATA_HOST_DEVICE constexpr float keep_scale() const {
    return 65536.0f / (65536.0f - static_cast<float>(threshold()));
  }
};

// Returns two key words per round.
template <int kRounds>
STRATA_HOST_DEVICE constexpr std::array<uint32_t, 2 * kRounds> philox_round_keys(uint64_t key) {
  std::array<uint32_t, 2 * kRounds> keys{};
  for (uint32_t round = 0; round < kRounds; ++round) {
    keys[2 * round] = static_cast<uint32_t>(key) + round * 0x9E3779B9u;
    keys[2 * round + 1] = static_cast<uint32_t>(key >> 32) + round * 0xBB67AE85u;
  }
  return keys;
}

template <int kRounds>
STRATA_HOST_DEVICE constexpr std::array<uint32_t, 4> philox4x32(
    std::array<uint32_t, 4> counter, const std::array<uint32_t, 2 * kRounds>& keys) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ keys[2 * round],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ keys[2 * round + 1],
               static_cast<uint32_t>(product0)};
  }
  return counter;
}

// Minimum number of rounds that passes every test of BigCrush (Salmon et al., table 2).
constexpr int kDropoutRounds = 7;
using DropoutRoundKeys = std::array<uint32_t, 2 * kDropoutRounds>;
STRATA_HOST_DEVICE constexpr DropoutRoundKeys dropout_round_keys(uint64_t key) {
  return philox_round_keys<kDropoutRounds>(key);
}

// Random bits of 8 neighbouring columns, from 8 * block, in a row of a sample: one Philox call.
// Row: the token's position in its sample; in attention `head * 65536 + query position`. Column:
// the hidden unit; in attention the key position.
class DropoutBits {
 public:
  STRATA_HOST_DEVICE constexpr DropoutBits(const DropoutRoundKeys& keys, uint64_t sample_id,
                                           uint32_t row, uint32_t block)
      : words_(philox4x32<kDropoutRounds>(
            {block, row, static_cast<uint32_t>(sample_id), static_cast<uint32_t>(sample_id >> 32)},
            keys)) {}

  // Returns the 16 bits of a column; only column % 8 matters. Conditionals instead of indexing keep
  // the words in registers on GPUs.
  STRATA_HOST_DEVICE constexpr uint32_t of(uint32_t column) const {
    return (word_of(column) >> (column % 2 * 16)) & 0xffffu;
  }
  // Returns of(column) >= threshold without extracting upper halves. Requires a 16-bit threshold.
  STRATA_HOST_DEVICE constexpr bool reach(uint32_t column, uint32_t threshold) const {
    const uint32_t word = word_of(column);
    return column % 2 == 1 ? word >= threshold << 16 : (word & 0xffffu) >= threshold;
  }

 private:
  STRATA_HOST_DEVICE constexpr uint32_t word_of(uint32_t column) const {
    const uint32_t low = column & 2u ? words_[1] : words_[0];
    const uint32_t high = column & 2u ? words_[3] : words_[2];
    return column & 4u ? high : low;
  }

  std::array<uint32_t, 4> words_;
};

STRATA_HOST_DEVICE constexpr uint32_t dropout_bits(uint64_t key, uint64_t sample_id, uint32_t row,
                                                   uint32_t column) {
  return DropoutBits(dropout_round_keys(key), sample_id, row, column / 8).of(column);
}

// Returns the factor of an element under dropout: 0 or keep_scale().
STRATA_HOST_DEVICE constexpr float dropout_factor(const Dropout& dropout, uint64_t sample_id,
                                                  uint32_t row, uint32_t column) {
  if (dropout.probability == 0.0f) return 1.0f;
  return dropout_bits(dropout.key(), sample_id, row, column) < dropout.threshold()
             ? 0.0f
             : dropout.keep_scale();
}

}  // namespace strata::device
