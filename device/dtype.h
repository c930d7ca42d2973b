// Element types of tensors, and bfloat16 as a storage type.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace strata::device {

enum class DType : uint8_t {
  kF64,
  kF32,
  kBF16,
  kE4M3,  // FP8 (device/float8.h)
  kE5M2,
};

constexpr size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 8;
    case DType::kF32:
      return 4;
    case DType::kBF16:
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
    case DType::kE4M3:
      return "e4m3";
    case DType::kE5M2:
      break;
  }
  return "e5m2";
}

// What kernels over storage type T compute in: float, or BFloat16 or its bits, uint16_t.
template <typename T>
constexpr DType dtype_of() {
  return sizeof(T) == 2 ? DType::kBF16 : DType::kF32;
}

// The upper half of an IEEE float; arithmetic happens in float.
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

}  // namespace strata::device
