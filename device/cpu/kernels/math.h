// Branch-free elementary functions that compilers vectorise, and loads and stores of all storage
// types. They are compiled for several instruction sets, so everything is in an unnamed namespace:
// the linker must not merge copies. `ivdep` marks loops that may run in place, element by element.
#pragma once

#include <bit>
#include <cstdint>

#include "device/cpu/kernels/table.h"

namespace strata::device::cpu {
namespace {

inline float load(float value) { return value; }
inline float load(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

inline float load(Float16 value) { return from_float16(value.bits); }

inline void store(float& destination, float value) { destination = value; }
inline void store(Float16& destination, float value) { destination.bits = to_float16(value); }
inline void store(uint16_t& destination, float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
  const uint32_t quiet_nan = (word >> 16) | 0x40u;
  destination = static_cast<uint16_t>((word & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded);
}

inline float rounded(float x) {
#ifdef __SSE4_1__
  return __builtin_rintf(x);
#else
  return static_cast<float>(static_cast<int32_t>(x + (x < 0.0f ? -0.5f : 0.5f)));
#endif
}

// exp with a relative error of about 1e-7 for results that are not denormal: a whole power of two
// times a polynomial of the rest.
inline float exp_in_range(float x) {
  const float whole = rounded(x * 1.44269504088896341f);
  // ln 2 in two parts; the first times a whole power is exact.
  float r = x - whole * 0.693359375f;
  r = r - whole * -2.12194440e-4f;
  float p = 0.00829765205f;
  p = p * r + 0.04191538158f;
  p = p * r + 0.1666757477f;
  p = p * r + 0.4999889486f;
  p = p * r + 0.999999692f;
  p = p * r + 1.000000072f;
  return std::bit_cast<float>(std::bit_cast<int32_t>(p) + (static_cast<int32_t>(whole) << 23));
}

// Clamps inputs to [-87, 88]; at -87 the result is 1.6e-38, which is negligible in a softmax.
inline float fast_exp(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  return exp_in_range(x);
}

// fast_exp for x <= 0, up to rounding; keeps NaN.
inline float exp_of_negative(float x) { return exp_in_range(-87.0f > x ? -87.0f : x); }

// exp_of_negative for numbers that are not NaN. Clamps with one unsigned minimum, because the bits
// of negative floats grow as the numbers fall. A NaN with its sign set gives exp(-87).
inline float fast_exp_of_negative(float x) {
  constexpr auto kLeast = std::bit_cast<uint32_t>(-87.0f);
  const auto bits = std::bit_cast<uint32_t>(x);
  return exp_in_range(std::bit_cast<float>(bits < kLeast ? bits : kLeast));
}

inline float fast_tanh(float x) { return 1.0f - 2.0f / (fast_exp(2.0f * x) + 1.0f); }

// The standard normal distribution function and density, by Abramowitz & Stegun 7.1.26, with an
// error below 1.5e-7. A NaN with its sign set gives a density near 0; every NaN gives a
// distribution function of NaN.
struct Normal {
  float cumulative;
  float density;
};
inline Normal normal(float x) {
  const float magnitude = x < 0.0f ? -x : x;
  const float gauss = fast_exp_of_negative(-0.5f * x * x);
  const float t = 1.0f / (1.0f + 0.3275911f * 0.707106781186547524f * magnitude);
  float p = 1.061405429f;
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const float tail = 0.5f * p * t * gauss;
  return {x < 0.0f ? tail : 1.0f - tail, 0.398942280401432678f * gauss};
}

// A vector register of this instruction set.
#ifdef __AVX512F__
constexpr int kVectorFloats = 16;
#elif defined(__AVX2__)
constexpr int kVectorFloats = 8;
#else
constexpr int kVectorFloats = 4;
#endif
typedef float Vector __attribute__((vector_size(kVectorFloats * sizeof(float))));

// Loads and stores at any address of a float. Compilers drop an attribute for that from a type that
// they deduce, so these copy.
[[gnu::always_inline]] inline Vector load_vector(const float* from) {
  Vector vector;
  __builtin_memcpy(&vector, from, sizeof(vector));
  return vector;
}
[[gnu::always_inline]] inline void store_vector(const Vector& vector, float* to) {
  __builtin_memcpy(to, &vector, sizeof(vector));
}

// Uses explicit vectors, because compilers may not reorder a maximum whose inputs may be NaN.
inline float highest_of(const float* x, int64_t count) {
  constexpr int kVectors = 4, kTogether = kVectors * kVectorFloats;
  float highest = x[0];
  int64_t i = 0;
  if (count >= kTogether) {
    Vector most[kVectors];
    for (int v = 0; v < kVectors; ++v) most[v] = Vector{} + highest;
    for (; i + kTogether <= count; i += kTogether) {
      for (int v = 0; v < kVectors; ++v) {
        const Vector some = load_vector(x + i + v * kVectorFloats);
        most[v] = some > most[v] ? some : most[v];
      }
    }
    for (int v = 1; v < kVectors; ++v) most[0] = most[v] > most[0] ? most[v] : most[0];
    for (int lane = 0; lane < kVectorFloats; ++lane) {
      highest = most[0][lane] > highest ? most[0][lane] : highest;
    }
  }
  for (; i < count; ++i) highest = x[i] > highest ? x[i] : highest;
  return highest;
}

}  // namespace
}  // namespace strata::device::cpu
