// FP8 numbers (Micikevicius et al., "FP8 formats for deep learning", 2022), and the scales that
// keep tensors in their range.
#pragma once

#include <bit>
#include <cstdint>

#include "device/operations/host_device.h"

namespace strata::device {

// The formats have a sign bit, exponent and mantissa bits, an exponent bias, a largest number and
// its code.
struct E4M3 {  // weights and activations; has no infinity
  static constexpr int kMantissaBits = 3, kBias = 7;
  static constexpr float kLargest = 448.0f;
  static constexpr uint8_t kLargestCode = 0x7e;
};
struct E5M2 {  // gradients; the upper byte of binary16
  static constexpr int kMantissaBits = 2, kBias = 15;
  static constexpr float kLargest = 57344.0f;
  static constexpr uint8_t kLargestCode = 0x7b;
};
constexpr uint8_t kFloat8Nan = 0x7f;  // in both formats

// Returns the code of x rounded to nearest even. Larger numbers saturate.
template <typename Format>
STRATA_HOST_DEVICE constexpr uint8_t to_float8(float x) {
  constexpr uint32_t kInfinity = 0x7f800000u;
  constexpr int kDropped = 23 - Format::kMantissaBits, kRebias = 127 - Format::kBias;
  // The last digit of this float is the format's smallest subnormal. Adding it to a subnormal makes
  // the hardware round to multiples of that.
  constexpr uint32_t kCoarse = static_cast<uint32_t>(kRebias + 1 + kDropped) << 23;
  const uint32_t word = std::bit_cast<uint32_t>(x), magnitude = word & 0x7fffffffu;
  const auto sign = static_cast<uint8_t>(word >> 24 & 0x80u);
  const uint32_t odd = magnitude >> kDropped & 1u;
  const uint32_t normal = ((magnitude + (1u << (kDropped - 1)) - 1u + odd) >> kDropped) -
                          (static_cast<uint32_t>(kRebias) << Format::kMantissaBits);
  const uint32_t small =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(kCoarse)) -
      kCoarse;
  const uint32_t code = magnitude < static_cast<uint32_t>(kRebias + 1) << 23 ? small : normal;
  const uint32_t limited = code < Format::kLargestCode ? code : Format::kLargestCode;
  return sign | static_cast<uint8_t>(magnitude > kInfinity ? kFloat8Nan : limited);
}

template <typename Format>
STRATA_HOST_DEVICE constexpr float from_float8(uint8_t code) {
  const uint32_t sign = static_cast<uint32_t>(code & 0x80u) << 24, magnitude = code & 0x7fu;
  if (magnitude > Format::kLargestCode) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (magnitude >> Format::kMantissaBits == 0) {
    // Exponent of the smallest number, as a float's.
    constexpr int kSmallest = 128 - Format::kBias - Format::kMantissaBits;
    const float value = static_cast<float>(magnitude) *
                        std::bit_cast<float>(static_cast<uint32_t>(kSmallest) << 23);
    return sign ? -value : value;
  }
  constexpr uint32_t kRebias = static_cast<uint32_t>(127 - Format::kBias) << Format::kMantissaBits;
  return std::bit_cast<float>(sign | (magnitude + kRebias) << (23 - Format::kMantissaBits));
}

// Returns the largest power of two that keeps `amax` within `limit`, or 1 if amax is 0.
STRATA_HOST_DEVICE constexpr float float8_scale(float limit, float amax) {
  const float ratio = limit / amax;
  if (!(amax > 0.0f) || !(ratio > 1e-30f)) return 1.0f;
  const float history_amax = ratio < 1e30f ? ratio : 1e30f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(history_amax) & 0x7f800000u);
}

// Number of steps in the amax history.
constexpr int kFloat8History = 16;

// Arithmetic of Float8Update for one tensor: `history` [kFloat8History], `scale` [2].
STRATA_HOST_DEVICE inline void update_float8_scale(float limit, float& amax, float* history,
                                                   float* scale) {
  float history_amax = amax;
  for (int step = kFloat8History - 1; step > 0; --step) {
    history[step] = history[step - 1];
    if (history_amax < history[step]) history_amax = history[step];
  }
  history[0] = amax;
  amax = 0.0f;
  scale[0] = float8_scale(limit, history_amax);
  scale[1] = 1.0f / scale[0];
}

}  // namespace strata::device
