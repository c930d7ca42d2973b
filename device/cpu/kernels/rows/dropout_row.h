// Dropout factors of a whole row: the Philox stream of device/operations/dropout.h with several
// counters in parallel.
#pragma once

#include <algorithm>
#include <array>

#include "device/cpu/kernels/math.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace strata::device::cpu {
namespace {

#ifdef __AVX512BW__

// Constants of all random numbers of a dropout.
struct DropoutKeys {
  std::array<uint64_t, 2 * kDropoutRounds> rounds;  // each word in its own 64-bit lane
  __m512i threshold;

  explicit DropoutKeys(const Dropout& dropout)
      : threshold(_mm512_set1_epi16(static_cast<int16_t>(dropout.threshold()))) {
    std::ranges::copy(dropout_round_keys(dropout.key()), rounds.begin());
  }
};

// Columns whose bits are computed together.
constexpr int64_t kKeptTogether = 64;

// Eight counters in parallel, each 32-bit word in a 64-bit lane. The widening product ignores the
// upper halves, so they are never cleared, and a round takes six instructions.
class KeptColumns {
 public:
  [[gnu::always_inline]] KeptColumns() = default;
  // Starts with kKeptTogether columns from `base`.
  [[gnu::always_inline]] KeptColumns(uint64_t sample_id, uint32_t row, int64_t base)
      : c0_(_mm512_add_epi64(_mm512_set1_epi64(base / 8),
                             _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0))),
        c1_(_mm512_set1_epi64(row)),
        c2_(_mm512_set1_epi64(static_cast<uint32_t>(sample_id))),
        c3_(_mm512_set1_epi64(static_cast<int64_t>(sample_id >> 32))) {}

  // Called with rounds 0 to kDropoutRounds - 1 in order.
  [[gnu::always_inline]] void run_round(const DropoutKeys& keys, int round) {
    constexpr int kXor = 0x96;  // XOR of all three operands
    const auto key = [&](int word) {
      return _mm512_set1_epi64(static_cast<int64_t>(keys.rounds[2 * round + word]));
    };
    const __m512i product0 = _mm512_mul_epu32(c0_, _mm512_set1_epi64(0xD2511F53));
    const __m512i product1 = _mm512_mul_epu32(c2_, _mm512_set1_epi64(0xCD9E8D57));
    c0_ = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product1, 32), c1_, key(0), kXor);
    c2_ = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product0, 32), c3_, key(1), kXor);
    c1_ = product1;
    c3_ = product0;
  }

  // Returns one bit per column, after all rounds.
  [[gnu::always_inline]] uint64_t bits(const DropoutKeys& keys) const {
    // Puts each counter's eight 16-bit numbers side by side, for counters 0, 2, 4, 6 and 1, 3, 5,
    // 7, and then in order.
    const __m512i low_half = _mm512_set1_epi64(0xffffffff);
    const __m512i words01 =
        _mm512_or_si512(_mm512_and_si512(c0_, low_half), _mm512_slli_epi64(c1_, 32));
    const __m512i words23 =
        _mm512_or_si512(_mm512_and_si512(c2_, low_half), _mm512_slli_epi64(c3_, 32));
    const __m512i even = _mm512_unpacklo_epi64(words01, words23);
    const __m512i odd = _mm512_unpackhi_epi64(words01, words23);
    const auto kept = [&](__m512i order) {
      return _mm512_cmpge_epu16_mask(_mm512_permutex2var_epi64(even, order, odd), keys.threshold);
    };
    return _mm512_kunpackd(kept(_mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4)),
                           kept(_mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0)));
  }

 private:
  __m512i c0_, c1_, c2_, c3_;
};

// Calls take(c, kept) for kGroups groups of 64 columns from `base`. Interleaves the groups' rounds
// to hide their latency.
template <int kGroups, typename Take>
[[gnu::always_inline]] inline void find_kept_of_groups(const DropoutKeys& keys, uint64_t sample_id,
                                                       uint32_t row, int64_t base,
                                                       const Take& take) {
  KeptColumns groups[kGroups];
#pragma GCC unroll 4
  for (int i = 0; i < kGroups; ++i) {
    groups[i] = KeptColumns(sample_id, row, base + i * kKeptTogether);
  }
#pragma GCC unroll 10
  for (int round = 0; round < kDropoutRounds; ++round) {
#pragma GCC unroll 4
    for (KeptColumns& group : groups) group.run_round(keys, round);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kGroups; ++i) take(base + i * kKeptTogether, groups[i].bits(keys));
}

// Calls take(c, kept) for c = 0, 64, 128, ... below `columns`. Bit i of kept is set if column c + i
// is kept; bits beyond `columns` are undefined.
template <typename Take>
inline void for_each_kept(const DropoutKeys& keys, uint64_t sample_id, uint32_t row,
                          int64_t columns, const Take& take) {
  int64_t base = 0;
  for (; base + 4 * kKeptTogether <= columns; base += 4 * kKeptTogether) {
    find_kept_of_groups<4>(keys, sample_id, row, base, take);
  }
  for (; base < columns; base += kKeptTogether) {
    find_kept_of_groups<1>(keys, sample_id, row, base, take);
  }
}

// factors[c] = 0 or keep_scale for c < columns; writes up to the next multiple of 64.
inline void dropout_row(const Dropout& dropout, uint64_t sample_id, uint32_t row, int64_t columns,
                        float* __restrict factors) {
  const __m512 keep = _mm512_set1_ps(dropout.keep_scale());
  for_each_kept(DropoutKeys(dropout), sample_id, row, columns, [&](int64_t c, uint64_t kept) {
    for (int i = 0; i < kKeptTogether; i += 16) {
      _mm512_storeu_ps(factors + c + i,
                       _mm512_maskz_mov_ps(static_cast<__mmask16>(kept >> i), keep));
    }
  });
}

#elif defined(__AVX2__)

// Four counters in parallel, each 32-bit word in a 64-bit lane. The widening product ignores the
// upper halves, so they are never cleared.
class FourCounters {
 public:
  [[gnu::always_inline]] FourCounters(uint64_t sample_id, uint32_t row, int64_t first)
      : c0_(_mm256_add_epi64(_mm256_set1_epi64x(first), _mm256_set_epi64x(3, 2, 1, 0))),
        c1_(_mm256_set1_epi64x(row)),
        c2_(_mm256_set1_epi64x(static_cast<uint32_t>(sample_id))),
        c3_(_mm256_set1_epi64x(static_cast<int64_t>(sample_id >> 32))) {}

  [[gnu::always_inline]] void run_round(__m256i key0, __m256i key1) {
    const __m256i product0 = _mm256_mul_epu32(c0_, _mm256_set1_epi64x(0xD2511F53));
    const __m256i product1 = _mm256_mul_epu32(c2_, _mm256_set1_epi64x(0xCD9E8D57));
    const auto mix = [](__m256i product, __m256i word, __m256i key) {
      return _mm256_xor_si256(_mm256_srli_epi64(product, 32), _mm256_xor_si256(word, key));
    };
    c0_ = mix(product1, c1_, key0);
    c2_ = mix(product0, c3_, key1);
    c1_ = product1;
    c3_ = product0;
  }

  // Writes `keep` or 0 for the counters' 32 columns. threshold: in every 16-bit lane.
  [[gnu::always_inline]] void write(__m256i threshold, __m256 keep, float* factors) const {
    const __m256i low_half = _mm256_set1_epi64x(0xffffffff);
    const __m256i words01 =
        _mm256_or_si256(_mm256_and_si256(c0_, low_half), _mm256_slli_epi64(c1_, 32));
    const __m256i words23 =
        _mm256_or_si256(_mm256_and_si256(c2_, low_half), _mm256_slli_epi64(c3_, 32));
    const auto write_eight = [&](__m128i kept, float* to) {
      const __m256 mask = _mm256_castsi256_ps(_mm256_cvtepi16_epi32(kept));
      _mm256_storeu_ps(to, _mm256_and_ps(mask, keep));
    };
    const auto write_counters = [&](__m256i numbers, int counter) {
      const __m256i kept = _mm256_cmpeq_epi16(_mm256_max_epu16(numbers, threshold), numbers);
      write_eight(_mm256_castsi256_si128(kept), factors + 8 * counter);
      write_eight(_mm256_extracti128_si256(kept, 1), factors + 8 * (counter + 2));
    };
    write_counters(_mm256_unpacklo_epi64(words01, words23), 0);
    write_counters(_mm256_unpackhi_epi64(words01, words23), 1);
  }

 private:
  __m256i c0_, c1_, c2_, c3_;
};

// factors[c] = 0 or keep_scale for c < columns; writes up to the next multiple of 64.
inline void dropout_row(const Dropout& dropout, uint64_t sample_id, uint32_t row, int64_t columns,
                        float* __restrict factors) {
  const auto keys = dropout_round_keys(dropout.key());
  const __m256i threshold = _mm256_set1_epi16(static_cast<int16_t>(dropout.threshold()));
  const __m256 keep = _mm256_set1_ps(dropout.keep_scale());
  for (int64_t base = 0; base < columns; base += 64) {
    // The rounds of both hide each other's latency.
    FourCounters first(sample_id, row, base / 8), second(sample_id, row, base / 8 + 4);
#pragma GCC unroll 10
    for (size_t round = 0; round < kDropoutRounds; ++round) {
      const __m256i key0 = _mm256_set1_epi64x(keys[2 * round]),
                    key1 = _mm256_set1_epi64x(keys[2 * round + 1]);
      first.run_round(key0, key1);
      second.run_round(key0, key1);
    }
    first.write(threshold, keep, factors + base);
    second.write(threshold, keep, factors + base + 32);
  }
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

// Iterates over the rows of a packed batch and tracks each one's sample and position.
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
