// Element types of tensors. The 16-bit types are storage types; arithmetic happens in float.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "device/operations/host_device.h"

namespace strata::device {

enum class DType : uint8_t {
  kF64,
  kF32,
  kBF16,
  kF16,
  kE4M3,  // FP8 (device/operations/float8.h)
  kE5M2,
};

constexpr size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 8;
    case DType::kF32:
      return 4;
    case DType::kBF16:
    case DType::kF16:
      return 2;
    case DType::kE4M3:
    case DType::kE5M2:
      break;
  }
  return 1;
}

constexpr bool is_float8(DType dtype) { return dtype == DType::kE4M3 || dtype == DType::kE5M2; }

constexpr const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return "f64";
    case DType::kF32:
      return "f32";
    case DType::kBF16:
      return "bf16";
    case DType::kF16:
      return "f16";
    case DType::kE4M3:
      return "e4m3";
    case DType::kE5M2:
      break;
  }
  return "e5m2";
}

// BFloat16 is the upper half of an IEEE float.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  // Rounds to nearest even; a NaN stays a NaN.
  constexpr BFloat16(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
    bits =
        static_cast<uint16_t>((word & 0x7fffffffu) > 0x7f800000u ? (word >> 16) | 0x40u : rounded);
  }
  constexpr operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

// Difference of the exponent biases of float and binary16, as float bits.
inline constexpr uint32_t kFloat16Rebias = (127u - 15u) << 23;

// Returns the bits of `value` rounded to nearest even. From 65520, half a unit above the largest
// number, the result is infinite; a NaN stays a NaN. Branch-free, so that compilers vectorise it.
STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE constexpr uint16_t to_float16(float value) {
  constexpr uint32_t kInfinity = 0x7f800000u, kTooLarge = 0x47800000u;  // 65536
  constexpr uint32_t kSmallestNormal = kFloat16Rebias + (1u << 23);     // 2^-14
  // The last digit of 1/2 is 2^-24, the smallest subnormal. Adding it to a subnormal makes the
  // hardware round to multiples of 2^-24.
  constexpr uint32_t kCoarse = 0x3f000000u;
  const uint32_t word = std::bit_cast<uint32_t>(value), magnitude = word & 0x7fffffffu;
  const uint32_t odd = magnitude >> 13 & 1u;
  const uint32_t normal = (magnitude - kFloat16Rebias + 0xfffu + odd) >> 13;
  const uint32_t small =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(kCoarse)) -
      kCoarse;
  uint32_t code = magnitude < kSmallestNormal ? small : normal;
  code = magnitude >= kTooLarge ? 0x7c00u : code;
  code = magnitude > kInfinity ? 0x7e00u | (magnitude >> 13 & 0x3ffu) : code;
  return static_cast<uint16_t>((word >> 16 & 0x8000u) | code);
}

// Exact. Branch-free for vectorisation, too.
STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE constexpr float from_float16(uint16_t bits) {
  constexpr uint32_t kExponent = 0x7c00u << 13;
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t shifted = static_cast<uint32_t>(bits & 0x7fffu) << 13;
  const uint32_t normal = shifted + kFloat16Rebias;
  const uint32_t infinite = normal + kFloat16Rebias;  // or a NaN
  // Reading a subnormal with exponent 1 adds 2^-14, which is subtracted here.
  const float small =
      std::bit_cast<float>(normal + (1u << 23)) - std::bit_cast<float>(kFloat16Rebias + (1u << 23));
  uint32_t word = (shifted & kExponent) == 0 ? std::bit_cast<uint32_t>(small) : normal;
  word = (shifted & kExponent) == kExponent ? infinite : word;
  return std::bit_cast<float>(sign | word);
}

// IEEE 754 binary16.
struct Float16 {
  uint16_t bits = 0;

  Float16() = default;
  constexpr Float16(float value) : bits(to_float16(value)) {}
  constexpr operator float() const { return from_float16(bits); }
};

// Dtype of storage type T: float, Float16, BFloat16, or uint16_t for bfloat16 bits.
template <typename T>
constexpr DType dtype_of() {
  if (std::is_same_v<T, Float16>) return DType::kF16;
  return sizeof(T) == 2 ? DType::kBF16 : DType::kF32;
}

}  // namespace strata::device
