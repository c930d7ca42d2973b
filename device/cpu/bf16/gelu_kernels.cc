#include "device/cpu/bf16/gelu_kernels.h"

#include <immintrin.h>

namespace strata::device::cpu {
namespace {

constexpr int64_t kWords = 16;
constexpr int kLast = SegmentedCubic::kSegments - 1;

[[gnu::always_inline]] inline __m512 widened(__m256i numbers) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(numbers), 16));
}

[[gnu::always_inline]] inline __m256i rounded(__m512 x) {
  return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x));
}

// A segmented cubic in registers.
class Cubics {
 public:
  [[gnu::always_inline]] explicit Cubics(const SegmentedCubic& cubics)
      : c0_(_mm512_load_ps(cubics.coefficients[0])),
        c1_(_mm512_load_ps(cubics.coefficients[1])),
        c2_(_mm512_load_ps(cubics.coefficients[2])),
        c3_(_mm512_load_ps(cubics.coefficients[3])) {}

  // NaN, and numbers too large for an integer, map to the last segment.
  [[gnu::always_inline]] __m512 operator()(__m512 magnitude) const {
    const __m512 place = _mm512_mul_ps(magnitude, _mm512_set1_ps(1 / SegmentedCubic::kWidth));
    const __m512i segment = _mm512_min_epu32(_mm512_cvttps_epi32(place), _mm512_set1_epi32(kLast));
    const __m512 distance = _mm512_fnmadd_ps(_mm512_cvtepi32_ps(segment),
                                             _mm512_set1_ps(SegmentedCubic::kWidth), magnitude);
    __m512 value = _mm512_permutexvar_ps(segment, c3_);
    value = _mm512_fmadd_ps(value, distance, _mm512_permutexvar_ps(segment, c2_));
    value = _mm512_fmadd_ps(value, distance, _mm512_permutexvar_ps(segment, c1_));
    return _mm512_fmadd_ps(value, distance, _mm512_permutexvar_ps(segment, c0_));
  }

 private:
  __m512 c0_, c1_, c2_, c3_;
};

[[gnu::always_inline]] inline __m512 gelu(const Cubics& half_gate, __m512 x) {
  const __m512 magnitude = _mm512_abs_ps(x);
  return _mm512_fmadd_ps(magnitude, half_gate(magnitude), _mm512_mul_ps(x, _mm512_set1_ps(0.5f)));
}

[[gnu::always_inline]] inline __m512 gelu_derivative(const Cubics& slope, __m512 x) {
  const __m512 of_magnitude = slope(_mm512_abs_ps(x));
  // Flips the sign for negative x.
  constexpr int kFirstAndSecondXorThird = 0x6a;
  const __m512i signed_slope =
      _mm512_ternarylogic_epi32(_mm512_castps_si512(_mm512_set1_ps(-0.0f)), _mm512_castps_si512(x),
                                _mm512_castps_si512(of_magnitude), kFirstAndSecondXorThird);
  return _mm512_add_ps(_mm512_castsi512_ps(signed_slope), _mm512_set1_ps(0.5f));
}

// Calls work(offset, mask) for 16 elements at a time, or for the rest of a row.
template <typename Work>
[[gnu::always_inline]] inline void for_sixteen(const MatrixPart& part, const Work& work) {
  constexpr auto kAll = static_cast<__mmask16>(0xffff);
  const int64_t whole = part.columns / kWords * kWords;
  const auto rest = static_cast<__mmask16>((1u << (part.columns - whole)) - 1);
  for (int64_t row = 0; row < part.rows; ++row) {
    const int64_t begin = row * part.stride;
    for (int64_t c = 0; c < whole; c += kWords) work(begin + c, kAll);
    if (rest != 0) work(begin + whole, rest);
  }
}

}  // namespace

void gelu_forward(const SegmentedCubic& half_gate, const MatrixPart& part,
                  const uint16_t* pre_activation, uint16_t* y) {
  const Cubics cubics(half_gate);
  for_sixteen(part, [&](int64_t offset, __mmask16 mask) {
    const __m512 x = widened(_mm256_maskz_loadu_epi16(mask, pre_activation + offset));
    _mm256_mask_storeu_epi16(y + offset, mask, rounded(gelu(cubics, x)));
  });
}

void gelu_backward(const SegmentedCubic& slope, const MatrixPart& part, const uint16_t* dy,
                   const uint16_t* pre_activation, uint16_t* dx) {
  const Cubics cubics(slope);
  for_sixteen(part, [&](int64_t offset, __mmask16 mask) {
    const __m512 x = widened(_mm256_maskz_loadu_epi16(mask, pre_activation + offset));
    const __m512 gradient = widened(_mm256_maskz_loadu_epi16(mask, dy + offset));
    _mm256_mask_storeu_epi16(dx + offset, mask,
                             rounded(_mm512_mul_ps(gradient, gelu_derivative(cubics, x))));
  });
}

}  // namespace strata::device::cpu
