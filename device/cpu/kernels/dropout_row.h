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

// Columns whose bits for_each_kept() finds together.
constexpr int64_t kKeptTogether = 64;

// Of kGroups times 64 columns from `base` on: take(c, kept) for every 64 of them, a bit each. Eight
// counters abreast, each 32-bit word in a 64-bit lane: the widening product ignores the upper
// halves, so they need never be cleared, and a round is six instructions, which wait for each
// other: hence several groups at a time.
template <int kGroups, typename Take>
[[gnu::always_inline]] inline void find_kept_of_groups(
    const uint64_t (&round_keys)[kDropoutRounds][2], __m512i threshold, uint64_t sample_id,
    uint32_t row, int64_t base, const Take& take) {
  constexpr int kXor = 0x96;  // of all three
  const __m512i multiplier0 = _mm512_set1_epi64(0xD2511F53),
                multiplier1 = _mm512_set1_epi64(0xCD9E8D57);
  __m512i c0[kGroups], c1[kGroups], c2[kGroups], c3[kGroups];
#pragma GCC unroll 4
  for (int group = 0; group < kGroups; ++group) {
    c0[group] = _mm512_add_epi64(_mm512_set1_epi64(base / 8 + group * 8),
                                 _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
    c1[group] = _mm512_set1_epi64(row);
    c2[group] = _mm512_set1_epi64(static_cast<uint32_t>(sample_id));
    c3[group] = _mm512_set1_epi64(static_cast<int64_t>(sample_id >> 32));
  }
#pragma GCC unroll 10
  for (int round = 0; round < kDropoutRounds; ++round) {
    const __m512i key0 = _mm512_set1_epi64(static_cast<int64_t>(round_keys[round][0]));
    const __m512i key1 = _mm512_set1_epi64(static_cast<int64_t>(round_keys[round][1]));
#pragma GCC unroll 4
    for (int group = 0; group < kGroups; ++group) {
      const __m512i product0 = _mm512_mul_epu32(c0[group], multiplier0);
      const __m512i product1 = _mm512_mul_epu32(c2[group], multiplier1);
      c0[group] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product1, 32), c1[group], key0, kXor);
      c2[group] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product0, 32), c3[group], key1, kXor);
      c1[group] = product1;
      c3[group] = product0;
    }
  }
  // Each counter's eight 16-bit numbers side by side, counters 0, 2, 4, 6 and 1, 3, 5, 7, then in
  // order.
  const __m512i low_half = _mm512_set1_epi64(0xffffffff);
  const __m512i first_four = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
  const __m512i last_four = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
#pragma GCC unroll 4
  for (int group = 0; group < kGroups; ++group) {
    const __m512i words01 =
        _mm512_or_si512(_mm512_and_si512(c0[group], low_half), _mm512_slli_epi64(c1[group], 32));
    const __m512i words23 =
        _mm512_or_si512(_mm512_and_si512(c2[group], low_half), _mm512_slli_epi64(c3[group], 32));
    const __m512i even = _mm512_unpacklo_epi64(words01, words23);
    const __m512i odd = _mm512_unpackhi_epi64(words01, words23);
    take(base + group * kKeptTogether,
         _mm512_kunpackd(
             _mm512_cmpge_epu16_mask(_mm512_permutex2var_epi64(even, last_four, odd), threshold),
             _mm512_cmpge_epu16_mask(_mm512_permutex2var_epi64(even, first_four, odd), threshold)));
  }
}

// Calls take(c, kept) for every 64 columns from c on, a bit each, up to the next multiple of
// kKeptTogether.
template <typename Take>
inline void for_each_kept(const Dropout& dropout, uint64_t sample_id, uint32_t row, int64_t columns,
                          const Take& take) {
  uint64_t round_keys[kDropoutRounds][2];
  const uint64_t key = dropout.key();
  auto key0 = static_cast<uint32_t>(key), key1 = static_cast<uint32_t>(key >> 32);
  for (auto& keys : round_keys) {
    keys[0] = key0;
    keys[1] = key1;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  const __m512i threshold = _mm512_set1_epi16(static_cast<int16_t>(dropout.threshold()));
  int64_t base = 0;
  for (; base + 256 <= columns; base += 256) {
    find_kept_of_groups<4>(round_keys, threshold, sample_id, row, base, take);
  }
  for (; base < columns; base += 64) {
    find_kept_of_groups<1>(round_keys, threshold, sample_id, row, base, take);
  }
}

// factors[c] = 0 or keep_scale for c < columns; writes up to the next multiple of 128.
inline void dropout_row(const Dropout& dropout, uint64_t sample_id, uint32_t row, int64_t columns,
                        float* __restrict factors) {
  const __m512 keep = _mm512_set1_ps(dropout.keep_scale());
  for_each_kept(dropout, sample_id, row, columns, [&](int64_t c, uint64_t kept) {
    for (int i = 0; i < kKeptTogether; i += 16) {
      _mm512_storeu_ps(factors + c + i,
                       _mm512_maskz_mov_ps(static_cast<__mmask16>(kept >> i), keep));
    }
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
