// Conversion between f32 and f16, with the processor's instructions (F16C) if this instruction set
// has them.
#pragma once

#include "device/cpu/kernels/flat/elementwise.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace strata::device::cpu {
namespace {

inline void f32_to_f16(int64_t count, float factor, const float* source, Float16* destination) {
  int64_t i = 0;
#ifdef __F16C__
  const __m256 factors = _mm256_set1_ps(factor);
  for (; i + 8 <= count; i += 8) {
    const __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps(source + i), factors);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(destination + i),
                     _mm256_cvtps_ph(scaled, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
#endif
  scaled_copy(count - i, factor, source + i, destination + i);
}

inline void f16_to_f32(int64_t count, float factor, const Float16* source, float* destination) {
  int64_t i = 0;
#ifdef __F16C__
  const __m256 factors = _mm256_set1_ps(factor);
  for (; i + 8 <= count; i += 8) {
    const __m256 wide =
        _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i)));
    _mm256_storeu_ps(destination + i, _mm256_mul_ps(wide, factors));
  }
#endif
  scaled_copy(count - i, factor, source + i, destination + i);
}

}  // namespace
}  // namespace strata::device::cpu
