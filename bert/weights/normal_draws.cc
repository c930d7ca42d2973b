#include "bert/weights/normal_draws.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "base/numbers/random.h"

namespace strata::bert {
namespace {

constexpr double kDeviation = 0.02;
constexpr double kCut = 2.0;  // in standard deviations

// Returns the first of the two counters that attempt `draw` of an element uses.
constexpr uint64_t counter_of(uint64_t element, uint64_t draw) {
  return (element << 16) + 2 * draw;
}
constexpr uint64_t element_of(uint64_t counter) { return counter >> 16; }

// ---- The definition, with the C library's functions.

// Returns a uniform number in (0, 1).
double uniform(uint64_t key, uint64_t counter) {
  return (static_cast<double>(splitmix64(key ^ splitmix64(counter)) >> 11) + 0.5) * 0x1p-53;
}

float draw_exactly(uint64_t key, uint64_t element) {
  for (uint64_t draw = 0;; ++draw) {
    const uint64_t counter = counter_of(element, draw);
    const double value = std::sqrt(-2.0 * std::log(uniform(key, counter))) *
                         std::cos(2.0 * std::numbers::pi * uniform(key, counter + 1));
    if (std::abs(value) <= kCut) return static_cast<float>(kDeviation * value);
  }
}

// ---- The same in loops that the compiler vectorises. Their doubles may differ from the
// definition's in the last bits. A float is used only if every double within the error bound rounds
// to it; the definition computes the few in a million that remain.

enum Outcome : int32_t { kDrawn, kBeyondCut, kTooCloseToTell };

constexpr size_t kBlock = 512;
struct Draws {
  uint64_t counters[kBlock];
  float values[kBlock];
  int32_t outcomes[kBlock];
};

[[gnu::always_inline]] inline double vector_uniform(uint64_t key, uint64_t counter) {
  // AVX2 does not convert 64-bit integers, so the two halves become mantissas of 2^84 and 2^52.
  const uint64_t bits = splitmix64(key ^ splitmix64(counter)) >> 11;
  const double high = std::bit_cast<double>((bits >> 32) | 0x4530000000000000u) - 0x1p84;
  const double low = std::bit_cast<double>((bits & 0xffffffffu) | 0x4330000000000000u) - 0x1p52;
  return (high + low + 0.5) * 0x1p-53;
}

// Uses log(2^e m) = e log 2 + 2 artanh((m - 1) / (m + 1)) for m in [sqrt(1/2), sqrt(2)). The
// relative error is below 1e-15.
[[gnu::always_inline]] inline double vector_log(double x) {
  constexpr uint64_t kOne = 0x3ff0000000000000, kSqrtHalf = 0x3fe6a09e667f3bcd;
  const uint64_t bits = std::bit_cast<uint64_t>(x) + (kOne - kSqrtHalf);
  const double e = std::bit_cast<double>((bits >> 52) | 0x4330000000000000u) - (0x1p52 + 1023);
  const double m = std::bit_cast<double>((bits & 0xfffffffffffffu) + kSqrtHalf);
  const double s = (m - 1) / (m + 1), z = s * s;
  double series = 1.0 / 21;
  series = series * z + 1.0 / 19;
  series = series * z + 1.0 / 17;
  series = series * z + 1.0 / 15;
  series = series * z + 1.0 / 13;
  series = series * z + 1.0 / 11;
  series = series * z + 1.0 / 9;
  series = series * z + 1.0 / 7;
  series = series * z + 1.0 / 5;
  series = series * z + 1.0 / 3;
  series = series * z + 1.0;
  return e * std::numbers::ln2 + 2 * s * series;
}

// Uses cos(2 pi x) = sin(2 pi (|x - 1/2| - 1/4)) for x in [0, 1]. The absolute error is below
// 1e-15.
[[gnu::always_inline]] inline double vector_cos_of_turns(double x) {
  const double angle = 2 * std::numbers::pi * (std::abs(x - 0.5) - 0.25), z = angle * angle;
  double series = -1.0 / 121645100408832000;  // 19!
  series = series * z + 1.0 / 355687428096000;
  series = series * z - 1.0 / 1307674368000;
  series = series * z + 1.0 / 6227020800;
  series = series * z - 1.0 / 39916800;
  series = series * z + 1.0 / 362880;
  series = series * z - 1.0 / 5040;
  series = series * z + 1.0 / 120;
  series = series * z - 1.0 / 6;
  series = series * z + 1.0;
  return angle * series;
}

[[gnu::always_inline]] inline void draw_once(uint64_t key, Draws& draws, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const uint64_t counter = draws.counters[i];
    const double radius = std::sqrt(-2.0 * vector_log(vector_uniform(key, counter)));
    const double value = radius * vector_cos_of_turns(vector_uniform(key, counter + 1));
    // The cosine's error is about 1e-15 here, and as much in the definition, which rounds 2 pi x.
    const double error = radius * 2e-14, size = std::abs(value);
    const auto low = static_cast<float>(kDeviation * (value - error));
    const auto high = static_cast<float>(kDeviation * (value + error));
    const bool inside = size<kCut - 1e-12, beyond = size> kCut + 1e-12;
    draws.values[i] = low;
    draws.outcomes[i] = (inside & (low == high)) ? kDrawn : beyond ? kBeyondCut : kTooCloseToTell;
  }
}

void draw_portably(uint64_t key, Draws& draws, size_t count) { draw_once(key, draws, count); }

using DrawOnce = void (*)(uint64_t, Draws&, size_t);

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void draw_avx2(uint64_t key, Draws& draws, size_t count) {
  draw_once(key, draws, count);
}
[[gnu::target("avx2,fma,avx512f,avx512dq,avx512vl")]] void draw_avx512(uint64_t key, Draws& draws,
                                                                       size_t count) {
  draw_once(key, draws, count);
}
DrawOnce fastest() {
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 ? draw_avx512 : avx2 ? draw_avx2 : draw_portably;
}
#else
DrawOnce fastest() { return draw_portably; }
#endif

}  // namespace

void draw_normals(uint64_t seed, uint64_t first, std::span<float> values) {
  static const DrawOnce draw = fastest();
  Draws draws;
  size_t places[kBlock];
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    size_t left = std::min(kBlock, values.size() - begin);
    for (size_t i = 0; i < left; ++i) {
      places[i] = begin + i;
      draws.counters[i] = counter_of(first + begin + i, 0);
    }
    while (left > 0) {
      draw(seed, draws, left);
      size_t again = 0;
      for (size_t i = 0; i < left; ++i) {
        const uint64_t counter = draws.counters[i];
        if (draws.outcomes[i] == kBeyondCut) {
          places[again] = places[i];
          draws.counters[again++] = counter + 2;
        } else {
          values[places[i]] = draws.outcomes[i] == kDrawn ? draws.values[i]
                                                          : draw_exactly(seed, element_of(counter));
        }
      }
      left = again;
    }
  }
}

}  // namespace strata::bert
