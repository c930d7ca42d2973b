// Products of small f32 matrices in registers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "device/cpu/kernels/math.h"

namespace strata::device::cpu {
namespace {

// A tile of sums takes kTileRows x kTileVectors registers; two more hold the right operand.
constexpr int kTileRows = kVectorFloats == 16 ? 12 : 6, kTileVectors = 2;
constexpr int kPanel = kTileVectors * kVectorFloats;  // columns

constexpr int64_t whole_panels(int64_t columns) { return (columns + kPanel - 1) / kPanel * kPanel; }

// The left operand: element (i, l) at data[i * row + l * column].
struct Left {
  const float* data;
  int64_t row, column;
};

// Right operands [depth, columns] are packed in panels of kPanel columns, filled up with zeros:
// element (l, c) at [c / kPanel * depth * kPanel + l * kPanel + c % kPanel].

typedef float Four __attribute__((vector_size(4 * sizeof(float))));

// to[l * kPanel + j] = x[j * stride + l] for four rows j and columns l.
[[gnu::always_inline]] inline void transpose_four(const float* x, int64_t stride, float* to) {
  Four row[4];
  for (int j = 0; j < 4; ++j) __builtin_memcpy(&row[j], x + j * stride, sizeof(Four));
  const Four even_low = __builtin_shufflevector(row[0], row[2], 0, 4, 1, 5),
             even_high = __builtin_shufflevector(row[0], row[2], 2, 6, 3, 7),
             odd_low = __builtin_shufflevector(row[1], row[3], 0, 4, 1, 5),
             odd_high = __builtin_shufflevector(row[1], row[3], 2, 6, 3, 7);
  const Four column[4] = {__builtin_shufflevector(even_low, odd_low, 0, 4, 1, 5),
                          __builtin_shufflevector(even_low, odd_low, 2, 6, 3, 7),
                          __builtin_shufflevector(even_high, odd_high, 0, 4, 1, 5),
                          __builtin_shufflevector(even_high, odd_high, 2, 6, 3, 7)};
  for (int l = 0; l < 4; ++l) __builtin_memcpy(to + l * kPanel, &column[l], sizeof(Four));
}

// Packs the transpose of x[columns, depth], whose rows are `stride` apart.
inline void pack_transposed(int64_t columns, int64_t depth, const float* x, int64_t stride,
                            float* to) {
  const int64_t fours = depth / 4 * 4;
  for (int64_t c = 0; c < columns; c += kPanel, to += depth * kPanel) {
    const int64_t some = std::min<int64_t>(kPanel, columns - c);
    if (some < kPanel) std::fill_n(to, depth * kPanel, 0.0f);
    int64_t j = 0;
    for (; j + 4 <= some; j += 4) {
      const float* rows = x + (c + j) * stride;
      for (int64_t l = 0; l < fours; l += 4) {
        transpose_four(rows + l, stride, to + l * kPanel + j);
      }
      for (int64_t l = fours; l < depth; ++l) {
        for (int64_t k = 0; k < 4; ++k) to[l * kPanel + j + k] = rows[k * stride + l];
      }
    }
    for (; j < some; ++j) {
      for (int64_t l = 0; l < depth; ++l) to[l * kPanel + j] = x[(c + j) * stride + l];
    }
  }
}

// Packs x[depth, columns], whose rows are `stride` apart.
inline void pack_rows(int64_t depth, int64_t columns, const float* x, int64_t stride, float* to) {
  for (int64_t c = 0; c < columns; c += kPanel) {
    const int64_t some = std::min<int64_t>(kPanel, columns - c);
    for (int64_t l = 0; l < depth; ++l, to += kPanel) {
      const float* row = x + l * stride + c;
      if (some == kPanel) {
        for (int64_t j = 0; j < kPanel; ++j) to[j] = row[j];
      } else {
        for (int64_t j = 0; j < kPanel; ++j) to[j] = j < some ? row[j] : 0.0f;
      }
    }
  }
}

// out[kRows, kPanel] = or += left panel. Its parameters are scalars, not structs, so that
// compilers keep them in registers.
template <int kRows>
[[gnu::noinline]] void tile(int64_t depth, const float* a, int64_t a_row, int64_t a_column,
                            const float* panel, bool accumulate, float* out, int64_t out_row) {
  const auto at = [&](int r, int v) { return out + r * out_row + v * kVectorFloats; };
  Vector sums[kRows][kTileVectors];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kTileVectors; ++v) sums[r][v] = Vector{};
  }
  if (accumulate) {
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kTileVectors; ++v) sums[r][v] = load_vector(at(r, v));
    }
  }
  for (int64_t l = 0; l < depth; ++l, a += a_column, panel += kPanel) {
    Vector columns[kTileVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kTileVectors; ++v) {
      columns[v] = load_vector(panel + v * kVectorFloats);
    }
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const float element = a[r * a_row];
#pragma GCC unroll 2
      for (int v = 0; v < kTileVectors; ++v) sums[r][v] += columns[v] * element;
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kTileVectors; ++v) store_vector(sums[r][v], at(r, v));
  }
}

// kTiles[rows - 1] is tile<rows>.
template <size_t... kBefore>
constexpr std::array<decltype(&tile<1>), sizeof...(kBefore)> make_tiles(
    std::index_sequence<kBefore...>) {
  return {tile<static_cast<int>(kBefore) + 1>...};
}
constexpr auto kTiles = make_tiles(std::make_index_sequence<kTileRows>());

// out[rows, columns] = or += left right, where rows of `out` are `out_row` apart.
inline void product(int64_t rows, int64_t columns, int64_t depth, const Left& left,
                    const float* right, bool accumulate, float* out, int64_t out_row) {
  for (int64_t c = 0; c < columns; c += kPanel, right += depth * kPanel) {
    const int64_t width = std::min<int64_t>(kPanel, columns - c);
    int64_t tiles = (rows + kTileRows - 1) / kTileRows;
    for (int64_t i = 0, some; i < rows; i += some, --tiles) {
      // Tiles have nearly equal height, because short ones do not hide the latency of their sums.
      some = (rows - i + tiles - 1) / tiles;
      const auto multiply = kTiles[static_cast<size_t>(some - 1)];
      const float* a = left.data + i * left.row;
      float* to = out + i * out_row + c;
      if (width == kPanel) {
        multiply(depth, a, left.row, left.column, right, accumulate, to, out_row);
        continue;
      }
      float whole[kTileRows * kPanel] = {};
      for (int64_t r = 0; r < some && accumulate; ++r) {
        std::copy_n(to + r * out_row, width, whole + r * kPanel);
      }
      multiply(depth, a, left.row, left.column, right, accumulate, whole, kPanel);
      for (int64_t r = 0; r < some; ++r) {
        std::copy_n(whole + r * kPanel, width, to + r * out_row);
      }
    }
  }
}

}  // namespace
}  // namespace strata::device::cpu
