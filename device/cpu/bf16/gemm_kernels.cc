#include "device/cpu/bf16/gemm_kernels.h"

#include "device/cpu/bf16/products.h"

namespace strata::device::cpu {
namespace {

static_assert(kPanelColumns == kGroup && kPackedRows == kTileRows);

// Returns the mask of the first n of 16 columns; n may be negative or above 16.
__mmask16 first_of_16(int64_t n) {
  return n >= 16 ? __mmask16{0xffff} : static_cast<__mmask16>((1u << std::max<int64_t>(n, 0)) - 1);
}

__m256i masked_sixteen(__mmask16 mask, const uint16_t* from) {
  return _mm256_maskz_loadu_epi16(mask, from);
}

// Returns sixteen pairs of a row and the next one; zeros if there is no next row, and where masked
// out.
__m512i pairs_of_rows(const uint16_t* row, int64_t stride, bool has_next, __mmask16 mask) {
  return pairs_of(masked_sixteen(mask, row),
                  masked_sixteen(has_next ? mask : __mmask16{0}, row + stride));
}

// Adds both numbers of sixteen pairs to sums[16], unless masked out.
void add_pairs(__m512i pairs, __mmask16 mask, float* sums) {
  const __m512i ones = _mm512_set1_epi32(0x3f803f80);
  _mm512_mask_storeu_ps(
      sums, mask,
      _mm512_dpbf16_ps(_mm512_maskz_loadu_ps(mask, sums), reinterpret_cast<__m512bh>(pairs),
                       reinterpret_cast<__m512bh>(ones)));
}

// Prefetches `count` numbers.
template <int64_t count>
void prefetch_columns(const uint16_t* row) {
  constexpr int64_t kLine = 32;  // numbers per cache line
  for (int64_t c = 0; c < count; c += kLine) {
    _mm_prefetch(reinterpret_cast<const char*>(row + c), _MM_HINT_T0);
  }
}

template <typename Initial, typename T>
void multiply(const Panel& panel, const Left& left, const Initial* initial, T* out) {
  const Right right{panel.right, kPanelColumns, 0};
  const int64_t whole = panel.columns / kWords * kWords;
  product<Initial, T>(panel.rows, whole, panel.pairs, left, right, {initial, panel.initial.row},
                      {out, panel.out_row});
  if (whole == panel.columns) return;
  // The last columns go through a buffer with room for sixteen.
  const int64_t rest = panel.columns - whole;
  for (int64_t i = 0; i < panel.rows; i += kTileRows) {
    const int64_t rows = std::min<int64_t>(kTileRows, panel.rows - i);
    alignas(64) Initial before[kTileRows][kWords] = {};
    alignas(64) T after[kTileRows][kWords];
    for (int64_t r = 0; r < rows && initial != nullptr; ++r) {
      std::copy_n(initial + (i + r) * panel.initial.row + whole, rest, before[r]);
    }
    product<Initial, T>(rows, kWords, panel.pairs,
                        {left.data + i / kTileRows * left.tile, left.row, left.pair, left.tile},
                        {panel.right + whole, kPanelColumns, 0}, {before[0], kWords},
                        {after[0], kWords});
    for (int64_t r = 0; r < rows; ++r) {
      std::copy_n(after[r], rest, out + (i + r) * panel.out_row + whole);
    }
  }
}

template <typename T>
void multiply(const Panel& panel, const Left& left, T* out) {
  if (panel.initial.bf16 != nullptr) {
    multiply(panel, left, panel.initial.bf16, out);
  } else {
    multiply(panel, left, panel.initial.f32, out);
  }
}

}  // namespace

void pack_right_operand(bool transposed, int64_t k, int64_t n, const uint16_t* b, int64_t stride,
                        uint32_t* to) {
  if (transposed) {
    pack_transposed(n, k, b, stride, to);
    return;
  }
  // Prefetch distance; the hardware does not prefetch rows that lie a page apart.
  constexpr int64_t kAhead = 16;
  for (int64_t i = 0; i < k; i += 2, to += kPanelColumns) {
    const uint16_t* row = b + i * stride;
    prefetch_columns<kPanelColumns>(b + std::min(i + kAhead, k - 1) * stride);
    prefetch_columns<kPanelColumns>(b + std::min(i + kAhead + 1, k - 1) * stride);
    for (int64_t c = 0; c < n; c += kWords) {
      _mm512_storeu_si512(to + c, pairs_of_rows(row + c, stride, i + 1 < k, first_of_16(n - c)));
    }
  }
}

void pack_left_operand(int64_t k, int64_t m, const uint16_t* a, int64_t stride, uint32_t* to,
                       float* sums) {
  // Rows of k packed together, and columns of a. Whole cache lines are read once, even if many rows
  // map to the same cache sets.
  constexpr int64_t kPairs = 8, kColumns = 16 * kPackedRows;
  constexpr int64_t kReadTogether = 8;  // numbers read at once; only kPackedRows are used
  alignas(64) uint32_t block[kPairs][kColumns + kReadTogether] = {};
  const int64_t group = (k + 1) / 2 * kPackedRows;
  // Prefetches the next columns of row l, or the first columns of a later row.
  const auto ask_for_next = [&](int64_t l, int64_t column) {
    const bool ends = column + kColumns >= m;
    const int64_t row = std::min(ends ? l + 2 * kPairs : l, k - 1);
    prefetch_columns<kColumns>(a + row * stride + (ends ? 0 : column + kColumns));
  };
  for (int64_t first = 0; first < k; first += 2 * kPairs) {
    const int64_t pairs = std::min(kPairs, (k - first + 1) / 2);
    for (int64_t i = 0; i < m; i += kColumns) {
      const int64_t columns = std::min(kColumns, m - i);
      for (int64_t j = 0; j < pairs; ++j) {
        const int64_t l = first + 2 * j;
        const uint16_t* row = a + l * stride + i;
        ask_for_next(l, i);
        ask_for_next(l + 1, i);
        for (int64_t c = 0; c < columns; c += kWords) {
          const __mmask16 mask = first_of_16(columns - c);
          const __m512i numbers = pairs_of_rows(row + c, stride, l + 1 < k, mask);
          _mm512_storeu_si512(block[j] + c, numbers);
          if (sums != nullptr) add_pairs(numbers, mask, sums + i + c);
        }
      }
      for (int64_t c = 0; c < columns; c += kPackedRows) {
        uint32_t* out = to + (i + c) / kPackedRows * group + first / 2 * kPackedRows;
        // Stores eight numbers for six; the next store overwrites two of them, except for the last.
        for (int64_t j = 0; j + 1 < pairs; ++j, out += kPackedRows) {
          _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                              _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block[j] + c)));
        }
        std::copy_n(block[pairs - 1] + c, kPackedRows, out);
      }
    }
  }
}

void multiply_panel(const Panel& panel) {
  const Left left = panel.left_row > 0
                        ? Left{panel.left, panel.left_row, 1}
                        : Left{panel.left, 1, kPackedRows, panel.pairs * kPackedRows};
  if (panel.bf16 != nullptr) {
    multiply(panel, left, panel.bf16);
  } else {
    multiply(panel, left, panel.f32);
  }
}

}  // namespace strata::device::cpu
