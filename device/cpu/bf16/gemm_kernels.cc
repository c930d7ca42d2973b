#include "device/cpu/bf16/gemm_kernels.h"

#include "device/cpu/bf16/products.h"

namespace strata::device::cpu {
namespace {

static_assert(kPanelColumns == kGroup && kPackedRows == kTileRows);

// The first n of 16 or 32 columns.
__mmask16 first_of_16(int64_t n) {
  return n >= 16 ? __mmask16{0xffff} : static_cast<__mmask16>((1u << std::max<int64_t>(n, 0)) - 1);
}

__m256i masked_sixteen(__mmask16 mask, const uint16_t* from) {
  return _mm256_maskz_loadu_epi16(mask, from);
}

template <typename Initial, typename T>
void multiply(const Panel& panel, const Left& left, const Initial* initial, T* out) {
  const Right right{panel.right, kPanelColumns, 0};
  const int64_t whole = panel.columns / kWords * kWords;
  product<Initial, T>(panel.rows, whole, panel.pairs, left, right, {initial, panel.initial.row},
                      {out, panel.out_row});
  if (whole == panel.columns) return;
  // The last columns by way of memory that has room for sixteen.
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
  for (int64_t i = 0; i < k; i += 2, to += kPanelColumns) {
    const uint16_t* earlier = b + i * stride;
    for (int64_t c = 0; c < n; c += kWords) {
      const __mmask16 mask = first_of_16(n - c);
      const __m256i later = masked_sixteen(i + 1 < k ? mask : __mmask16{0}, earlier + stride + c);
      _mm512_storeu_si512(to + c, pairs_of(masked_sixteen(mask, earlier + c), later));
    }
  }
}

void pack_left_operand(int64_t k, int64_t m, const uint16_t* a, int64_t stride, uint32_t* to) {
  const auto eight = [](__mmask8 mask, const uint16_t* from) {
    return _mm_maskz_loadu_epi16(mask, from);
  };
  // Of k, packed for all groups before the next: these rows' cache lines serve several groups.
  constexpr int64_t kTogether = 16;
  const int64_t group = (k + 1) / 2 * kPackedRows;
  for (int64_t first = 0; first < k; first += kTogether) {
    const int64_t last = std::min(k, first + kTogether);
    for (int64_t i = 0; i < m; i += kPackedRows) {
      const auto mask = static_cast<__mmask8>((1u << std::min(kPackedRows, m - i)) - 1);
      uint32_t* out = to + i / kPackedRows * group + first / 2 * kPackedRows;
      for (int64_t j = first; j < last; j += 2, out += kPackedRows) {
        const __m128i earlier = eight(mask, a + j * stride + i);
        const __m128i later = eight(j + 1 < k ? mask : __mmask8{0}, a + (j + 1) * stride + i);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_unpacklo_epi16(earlier, later));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(out + 4), _mm_unpackhi_epi16(earlier, later));
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
