// Products of small bf16 matrices in registers, for processors with AVX-512 BF16. Included only by
// a source that is compiled for them.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace strata::device::cpu {
namespace {

// Two bf16 numbers that are neighbours in the summed dimension, with the earlier one in the lower
// half. Pairs may alias rows of bf16 numbers.
using Pair [[gnu::may_alias]] = uint32_t;

constexpr int kWords = 16;  // f32 numbers, or pairs, per register
// A tile uses 24 registers for sums, 4 for the right operand, 1 for the left.
constexpr int kTileRows = 6, kTileRegisters = 4;
// With at most two registers of columns, six rows have too few independent sums to hide the latency
// of vdpbf16ps. Twelve rows have as many as a full tile.
constexpr int kTallTileRows = 12, kTallTileRegisters = 2;

// The left operand [rows, pairs], six rows at a time: element (i, j) at data[i / 6 * tile + i % 6 *
// row + j * pair].
struct Left {
  const Pair* data;
  int64_t row, pair;
  int64_t tile = kTileRows * row;
};

// The right operand [pairs, columns], 64 columns at a time: element (j, c) at data[c / 64 * group +
// j * row + c % 64].
constexpr int kGroup = kTileRegisters * kWords;
struct Right {
  const Pair* data;
  int64_t row, group;
};

// The result of a product: element (i, c) at data[i * row + c].
template <typename T>
struct Out {
  T* data;
  int64_t row;
};

[[gnu::always_inline]] inline __m512 get(const float* from) { return _mm512_loadu_ps(from); }
[[gnu::always_inline]] inline __m512 get(const uint16_t* from) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(
      _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))), 16));
}
[[gnu::always_inline]] inline void put(float* to, __m512 sum) { _mm512_storeu_ps(to, sum); }
[[gnu::always_inline]] inline void put(uint16_t* to, __m512 sum) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                      reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(sum)));
}

// Adds the products of one pair from each of R rows of the left operand, at a[r * a_row], and V
// registers of the right operand's columns to `sums`.
template <int R, int V>
[[gnu::always_inline]] inline void add_products(const Pair* a, int64_t a_row, const Pair* b,
                                                __m512 (&sums)[R][V]) {
  __m512bh columns[V];
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) {
    columns[v] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + v * kWords));
  }
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) {
    const auto element =
        reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a[r * a_row])));
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) sums[r][v] = _mm512_dpbf16_ps(sums[r][v], element, columns[v]);
  }
}

// Computes R rows of V registers of a product, starting from `initial`, or from zeros. Takes
// scalars instead of structs. Structs would be copied through the stack with another access width
// than they were stored with, and store forwarding would fail.
template <int R, int V, typename Initial, typename T>
[[gnu::noinline]] void tile(const Pair* a, int64_t a_row, int64_t a_pair, const Pair* b,
                            int64_t b_row, int64_t pairs, const Initial* initial,
                            int64_t initial_row, T* out, int64_t out_row) {
  // Unrolled explicitly; otherwise the compiler keeps sums in memory in the first and the last
  // loop.
  __m512 sums[R][V];
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) sums[r][v] = _mm512_setzero_ps();
  }
  if (initial != nullptr) {
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sums[r][v] = get(initial + r * initial_row + v * kWords);
    }
  }
  for (int64_t j = 0; j < pairs; ++j) {
    add_products(a, a_row, b, sums);
    a += a_pair;
    b += b_row;
  }
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) put(out + r * out_row + v * kWords, sums[r][v]);
  }
}

template <typename Initial, typename T>
struct Tile {
  decltype(&tile<1, 1, Initial, T>) multiply;
};
// kTiles<Initial, T>[R - 1][V - 1] is tile<R, V, Initial, T>; tall tiles have at most two
// registers.
template <int R, typename Initial, typename T>
constexpr std::array<Tile<Initial, T>, kTileRegisters> kTilesOfRows = {{{tile<R, 1, Initial, T>},
                                                                        {tile<R, 2, Initial, T>},
                                                                        {tile<R, 3, Initial, T>},
                                                                        {tile<R, 4, Initial, T>}}};
template <int R, typename Initial, typename T>
constexpr std::array<Tile<Initial, T>, kTileRegisters> kTallTilesOfRows = {
    {{tile<R, 1, Initial, T>}, {tile<R, 2, Initial, T>}}};
template <typename Initial, typename T>
constexpr std::array<std::array<Tile<Initial, T>, kTileRegisters>, kTallTileRows> kTiles = {
    kTilesOfRows<1, Initial, T>,      kTilesOfRows<2, Initial, T>,
    kTilesOfRows<3, Initial, T>,      kTilesOfRows<4, Initial, T>,
    kTilesOfRows<5, Initial, T>,      kTilesOfRows<6, Initial, T>,
    kTallTilesOfRows<7, Initial, T>,  kTallTilesOfRows<8, Initial, T>,
    kTallTilesOfRows<9, Initial, T>,  kTallTilesOfRows<10, Initial, T>,
    kTallTilesOfRows<11, Initial, T>, kTallTilesOfRows<12, Initial, T>};

// out[rows, columns] = left right, plus `initial` if it has data. columns: a multiple of 16.
template <typename Initial, typename T>
inline void product(int64_t rows, int64_t columns, int64_t pairs, const Left& left,
                    const Right& right, const Out<const Initial>& initial, const Out<T>& out) {
  // The current columns of the right operand stay in the first-level cache for all rows.
  for (int64_t c = 0; c < columns; c += kGroup) {
    const auto registers =
        static_cast<size_t>(std::min<int64_t>((columns - c) / kWords, kTileRegisters));
    const bool in_place = left.tile == kTileRows * left.row;
    const int64_t most = in_place && registers <= kTallTileRegisters ? kTallTileRows : kTileRows;
    int64_t tiles = (rows + most - 1) / most;
    for (int64_t i = 0, some; i < rows; i += some, --tiles) {
      // Tiles have nearly equal height, because short ones do not hide the latency of their sums.
      some = in_place ? (rows - i + tiles - 1) / tiles : std::min(rows - i, most);
      kTiles<Initial, T>[static_cast<size_t>(some - 1)][registers - 1].multiply(
          in_place ? left.data + i * left.row : left.data + i / kTileRows * left.tile, left.row,
          left.pair, right.data + c / kGroup * right.group, right.row, pairs,
          initial.data == nullptr ? nullptr : initial.data + i * initial.row + c, initial.row,
          out.data + i * out.row + c, out.row);
    }
  }
}
template <typename T>
inline void product(int64_t rows, int64_t columns, int64_t pairs, const Left& left,
                    const Right& right, const Out<T>& out) {
  product<float, T>(rows, columns, pairs, left, right, {nullptr, 0}, out);
}

// ---- Packing of right operands

// Returns sixteen pairs of two rows of bf16 numbers, with the earlier row in the lower halves.
[[gnu::always_inline]] inline __m512i pairs_of(__m256i earlier, __m256i later) {
  return _mm512_or_si512(_mm512_cvtepu16_epi32(earlier),
                         _mm512_slli_epi32(_mm512_cvtepu16_epi32(later), 16));
}

[[gnu::always_inline]] inline __m256i sixteen(const uint16_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

// Writes to[(rows + 1) / 2, columns], pairs of neighbouring rows of x [rows, columns]; an odd row
// is paired with zeros. columns: a multiple of 16.
inline void pack_row_pairs(int64_t rows, int64_t columns, const uint16_t* x, int64_t stride,
                           Pair* to) {
  for (int64_t i = 0; i < rows; i += 2, to += columns) {
    for (int64_t c = 0; c < columns; c += kWords) {
      const __m256i later =
          i + 1 < rows ? sixteen(x + (i + 1) * stride + c) : _mm256_setzero_si256();
      _mm512_storeu_si512(to + c, pairs_of(sixteen(x + i * stride + c), later));
    }
  }
}

// Transposes 16 registers of 16 words.
[[gnu::always_inline]] inline void transpose(__m512i (&x)[16]) {
  __m512i y[16];
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
    x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
    x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
    x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
  }
  for (int i = 0; i < 16; i += 8) {
    for (int j = 0; j < 4; ++j) {
      y[i + j] = _mm512_shuffle_i32x4(x[i + j], x[i + j + 4], 0x88);
      y[i + j + 4] = _mm512_shuffle_i32x4(x[i + j], x[i + j + 4], 0xdd);
    }
  }
  for (int j = 0; j < 8; ++j) {
    x[j] = _mm512_shuffle_i32x4(y[j], y[j + 8], 0x88);
    x[j + 8] = _mm512_shuffle_i32x4(y[j], y[j + 8], 0xdd);
  }
}

// Writes the transposed pairs of x [rows, columns] to groups of 64 rows, [(columns + 1) / 2, 64]
// each. Rows from `rows` up to a multiple of 16 are zero.
inline void pack_transposed(int64_t rows, int64_t columns, const uint16_t* x, int64_t stride,
                            Pair* to) {
  const int64_t pairs = (columns + 1) / 2;
  for (int64_t i = 0; i < rows; i += kWords) {
    Pair* group = to + i / kGroup * (pairs * kGroup) + i % kGroup;
    for (int64_t j = 0; j < pairs; j += kWords) {
      const int64_t numbers = std::min<int64_t>(columns - 2 * j, 2 * kWords);
      const auto mask = static_cast<__mmask32>((uint64_t{1} << numbers) - 1);
      __m512i block[kWords];
      for (int64_t r = 0; r < kWords; ++r) {
        block[r] = i + r < rows ? _mm512_maskz_loadu_epi16(mask, x + (i + r) * stride + 2 * j)
                                : _mm512_setzero_si512();
      }
      transpose(block);
      for (int64_t w = 0; w < std::min<int64_t>(pairs - j, kWords); ++w) {
        _mm512_storeu_si512(group + (j + w) * kGroup, block[w]);
      }
    }
  }
}

}  // namespace
}  // namespace strata::device::cpu
