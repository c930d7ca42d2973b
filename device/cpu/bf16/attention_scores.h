// The scores of a head's queries and which of them dropout keeps. Included once, by a source that
// is compiled for AVX-512 BF16.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "device/cpu/bf16/attention_kernels.h"
#include "device/cpu/bf16/attention_memory.h"
#include "device/cpu/kernels/rows/dropout_row.h"

namespace strata::device::cpu {
namespace {

static_assert(kColumns == kKeptTogether);

// Calls work(c, counted) for every kColumns columns from c on, of which those below n count, a bit
// each.
template <typename Work>
[[gnu::always_inline]] inline void for_each_group(int64_t n, const Work& work) {
  int64_t c = 0;
  for (; c + kColumns <= n; c += kColumns) work(c, ~uint64_t{0});
  if (c < n) work(c, (uint64_t{1} << (n - c)) - 1);
}
// The bits of register i among kColumns bits.
[[gnu::always_inline]] inline __mmask16 of_register(uint64_t bits, int i) {
  return static_cast<__mmask16>(bits >> (i * kWords));
}

// kept[i * size.row + c], a bit each: whether dropout keeps column c of query `first` + i.
void find_kept(const AttentionHead<uint16_t>& head, const Sizes& size, int64_t first, int64_t rows,
               uint64_t* kept) {
  const DropoutKeys keys(head.dropout);
  for (int64_t i = 0; i < rows; ++i, kept += size.row / kColumns) {
    for_each_kept(keys, head.sample_id, dropout_row_of(head, first + i), size.n,
                  [&](int64_t c, uint64_t columns) { kept[c / kColumns] = columns; });
  }
}

// Scores (nothing is masked in them) of kMaskedRows queries from `query` on and kColumns keys,
// kPairs of numbers each, and kept[i * kept_row]: bit c, whether dropout keeps key column + c of
// query i. Random numbers are integers, which wait for no product: they are found a step at a time
// between the products, which leave registers for them, as a tile of more rows would not.
constexpr int kMaskedRows = 4;
template <int kPairs>
[[gnu::noinline]] void masked_scores(const Pair* query, int64_t query_row, const Pair* keys,
                                     float* scores, int64_t scores_row, const DropoutKeys& dropout,
                                     uint64_t sample_id, uint32_t row, int64_t column,
                                     uint64_t* kept, int64_t kept_row) {
  constexpr int kSteps = kDropoutRounds + 1, kAllSteps = kMaskedRows * kSteps;
  __m512 sums[kMaskedRows][kTileRegisters];
#pragma GCC unroll 4
  for (auto& sums_of_row : sums) {
#pragma GCC unroll 4
    for (__m512& sum : sums_of_row) sum = _mm512_setzero_ps();
  }
  KeptColumns random;
  const auto step = [&]<int kStep>(std::integral_constant<int, kStep>)
      __attribute__((always_inline)) {
    constexpr int r = kStep / kSteps, round = kStep % kSteps;
    if constexpr (round == 0) random = KeptColumns(sample_id, row + r, column);
    if constexpr (kStep * kPairs % kAllSteps < kPairs) {
      constexpr int j = kStep * kPairs / kAllSteps;
      add_products(query + j, query_row, keys + j * kGroup, sums);
    }
    if constexpr (round < kDropoutRounds) {
      random.run_round(dropout, round);
    } else {
      kept[r * kept_row] = random.bits(dropout);
    }
  };
  [&]<int... kStep>(std::integer_sequence<int, kStep...>) __attribute__((always_inline)) {
    (step(std::integral_constant<int, kStep>()), ...);
  }
  (std::make_integer_sequence<int, kAllSteps>());
#pragma GCC unroll 4
  for (int r = 0; r < kMaskedRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kTileRegisters; ++v) put(scores + r * scores_row + v * kWords, sums[r][v]);
  }
}

// The factors of a head's numbers.
struct Factors {
  float scores;  // raw ones
  float kept;    // what dropout keeps
  float log2_kept;
  bool drops;

  explicit Factors(const AttentionHead<uint16_t>& head)
      : scores(1.0f / __builtin_sqrtf(static_cast<float>(head.d))),
        kept(head.dropout.probability > 0.0f ? head.dropout.keep_scale() : 1.0f),
        log2_kept(__builtin_log2f(kept)),
        drops(head.dropout.probability > 0.0f) {}
};

// Computes the scores [rows, size.row] of `rows` queries from `first` on and, if there is dropout,
// `kept` as find_kept() does.
void find_scores(const AttentionHead<uint16_t>& head, const Sizes& size, const Factors& factors,
                 int64_t first, int64_t rows, const Pair* keys, float* scores, uint64_t* kept) {
  const int64_t kept_row = size.row / kColumns;
  const auto queries = [&](int64_t row) {
    return reinterpret_cast<const Pair*>(head.query + (first + row) * head.stride);
  };
  const auto masked = size.d == 64 ? masked_scores<32> : size.d == 32 ? masked_scores<16> : nullptr;
  const int64_t row = factors.drops && masked != nullptr ? rows / kMaskedRows * kMaskedRows : 0;
  if (row > 0) {
    const DropoutKeys dropout(head.dropout);
    for (int64_t c = 0; c < size.n; c += kColumns) {
      for (int64_t i = 0; i < row; i += kMaskedRows) {
        masked(queries(i), head.stride / 2, keys + c / kGroup * (size.d / 2 * kGroup),
               scores + i * size.row + c, size.row, dropout, head.sample_id,
               dropout_row_of(head, first + i), c, kept + i * kept_row + c / kColumns, kept_row);
      }
    }
  }
  if (row == rows) return;
  if (factors.drops) find_kept(head, size, first + row, rows - row, kept + row * kept_row);
  product<float>(rows - row, size.keys, size.d / 2, {queries(row), head.stride / 2, 1},
                 size.transposed(keys), {scores + row * size.row, size.row});
}

}  // namespace
}  // namespace strata::device::cpu
