// Dropout factors of a whole row at once: the Philox stream of device/dropout.h, 16 counters
// abreast.
#pragma once

#include "device/cpu/kernels/math.h"

#ifdef __AVX512BW__
#include <immintrin.h>
#endif

namespace strata::device::cpu {
namespace {

#ifdef __AVX512BW__

// Calls take(c, kept) for every 32 columns from c on, a bit each, up to the next multiple of 64.
// Eight counters abreast, each 32-bit word in a 64-bit lane: the widening product ignores the upper
// halves, so they need never be cleared, and a round is six instructions.
template <typename Take>
inline void for_each_kept(const Dropout& dropout, uint64_t sample_id, uint32_t row, int64_t columns,
                          const Take& take) {
  constexpr int kXor = 0x96;  // of all three
  __m512i round_keys[kDropoutRounds][2];
  const uint64_t key = dropout.key();
  auto key0 = static_cast<uint32_t>(key), key1 = static_cast<uint32_t>(key >> 32);
  for (auto& keys : round_keys) {
    keys[0] = _mm512_set1_epi64(key0);
    keys[1] = _mm512_set1_epi64(key1);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  const __m512i multiplier0 = _mm512_set1_epi64(0xD2511F53),
                multiplier1 = _mm512_set1_epi64(0xCD9E8D57);
  const __m512i low_half = _mm512_set1_epi64(0xffffffff);
  const __m512i first_four = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
  const __m512i last_four = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
  const __m512i threshold = _mm512_set1_epi16(static_cast<int16_t>(dropout.threshold()));
  for (int64_t base = 0; base < columns; base += 64) {
    __m512i c0 =
        _mm512_add_epi64(_mm512_set1_epi64(base / 8), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
    __m512i c1 = _mm512_set1_epi64(row);
    __m512i c2 = _mm512_set1_epi64(static_cast<uint32_t>(sample_id));
    __m512i c3 = _mm512_set1_epi64(static_cast<int64_t>(sample_id >> 32));
    for (const auto& keys : round_keys) {
      const __m512i product0 = _mm512_mul_epu32(c0, multiplier0);
      const __m512i product1 = _mm512_mul_epu32(c2, multiplier1);
      c0 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product1, 32), c1, keys[0], kXor);
      c2 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product0, 32), c3, keys[1], kXor);
      c1 = product1;
      c3 = product0;
    }
    // Each counter's eight 16-bit numbers side by side, counters 0, 2, 4, 6 and 1, 3, 5, 7, then in
    // order.
    const __m512i words01 =
        _mm512_or_si512(_mm512_and_si512(c0, low_half), _mm512_slli_epi64(c1, 32));
    const __m512i words23 =
        _mm512_or_si512(_mm512_and_si512(c2, low_half), _mm512_slli_epi64(c3, 32));
    const __m512i even = _mm512_unpacklo_epi64(words01, words23);
    const __m512i odd = _mm512_unpackhi_epi64(words01, words23);
    const __m512i ordered[2] = {_mm512_permutex2var_epi64(even, first_four, odd),
                                _mm512_permutex2var_epi64(even, last_four, odd)};
    for (int half = 0; half < 2; ++half) {
      take(base + half * 32, _mm512_cmpge_epu16_mask(ordered[half], threshold));
    }
  }
}

// Bit c % 32 of kept[c / 32]: whether column c < columns stays; writes up to the next multiple of
// 64.
inline void dropout_kept(const Dropout& dropout, uint64_t sample_id, uint32_t row, int64_t columns,
                         uint32_t* __restrict kept) {
  for_each_kept(dropout, sample_id, row, columns,
                [&](int64_t c, __mmask32 bits) { kept[c / 32] = bits; });
}

// factors[c] = 0 or keep_scale for c < columns; writes up to the next multiple of 128.
inline void dropout_row(const Dropout& dropout, uint64_t sample_id, uint32_t row, int64_t columns,
                        float* __restrict factors) {
  const __m512 keep = _mm512_set1_ps(dropout.keep_scale());
  for_each_kept(dropout, sample_id, row, columns, [&](int64_t c, __mmask32 kept) {
    _mm512_storeu_ps(factors + c, _mm512_maskz_mov_ps(static_cast<__mmask16>(kept), keep));
    _mm512_storeu_ps(factors + c + 16,
                     _mm512_maskz_mov_ps(static_cast<__mmask16>(kept >> 16), keep));
  });
}

#else

// factors[c] = 0 or keep_scale for c < columns; writes up to the next multiple of 128.
inline void dropout_row(const Dropout& dropout, uint64_t sample_id, uint32_t row, int64_t columns,
                        float* __restrict factors) {
  constexpr int kLanes = 16;
  const uint32_t threshold = dropout.threshold();
  const float keep = dropout.keep_scale();
  const uint64_t key = dropout.key();
  for (int64_t base = 0; base < columns; base += kLanes * 8) {
    alignas(64) uint32_t words[4][kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      uint32_t c0 = static_cast<uint32_t>(base / 8 + lane), c1 = row;
      uint32_t c2 = static_cast<uint32_t>(sample_id), c3 = static_cast<uint32_t>(sample_id >> 32);
      uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
      for (int round = 0; round < kDropoutRounds; ++round) {
        const uint64_t product0 = uint64_t{0xD2511F53u} * c0;
        const uint64_t product1 = uint64_t{0xCD9E8D57u} * c2;
        c0 = static_cast<uint32_t>(product1 >> 32) ^ c1 ^ k0;
        c2 = static_cast<uint32_t>(product0 >> 32) ^ c3 ^ k1;
        c1 = static_cast<uint32_t>(product1);
        c3 = static_cast<uint32_t>(product0);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
      }
      words[0][lane] = c0;
      words[1][lane] = c1;
      words[2][lane] = c2;
      words[3][lane] = c3;
    }
    float* out = factors + base;
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int word = 0; word < 4; ++word) {
        out[lane * 8 + word * 2] = (words[word][lane] & 0xffffu) < threshold ? 0.0f : keep;
        out[lane * 8 + word * 2 + 1] = (words[word][lane] >> 16) < threshold ? 0.0f : keep;
      }
    }
  }
}

#endif

// Walks the rows of a packed batch and knows each one's sample and position.
class RowCursor {
 public:
  RowCursor(const Sequences& sequences, int64_t row) : sequences_(sequences), row_(row) {
    while (sequences_.count > 0 && sequences_.cu_seqlens[sequence_ + 1] <= row_) ++sequence_;
  }
  uint64_t sample_id() const { return sequences_.sample_ids[sequence_]; }
  uint32_t position() const {
    return static_cast<uint32_t>(row_ - sequences_.cu_seqlens[sequence_]);
  }
  void advance() {
    ++row_;
    while (sequence_ < sequences_.count && sequences_.cu_seqlens[sequence_ + 1] <= row_)
      ++sequence_;
  }

 private:
  const Sequences& sequences_;
  int64_t row_;
  int32_t sequence_ = 0;
};

}  // namespace
}  // namespace strata::device::cpu
