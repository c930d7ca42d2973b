// The parts of a bf16 GEMM that are compiled for AVX-512 BF16: operands packed as pairs, and a
// panel of a product. Calling them where the processor lacks it is fatal; see
// multiplies_bf16_pairs().
#pragma once

#include <cstdint>

namespace strata::device::cpu {

// Columns of a panel, and rows that lie together in a packed left operand.
constexpr int64_t kPanelColumns = 64, kPackedRows = 6;

// to[(k + 1) / 2, 64] = pairs of b [k, n], or of its transpose [n, k], whose rows are `stride`
// apart; zero from column n, at most 64, up to a multiple of 16.
void pack_right_operand(bool transposed, int64_t k, int64_t n, const uint16_t* b, int64_t stride,
                        uint32_t* to);

// Groups of six rows, each to[(k + 1) / 2, 6] = pairs of a's transpose, for a [k, m] whose rows are
// `stride` apart. `to` has memory for whole groups. sums[m] += a's column sums; null: none.
void pack_left_operand(int64_t k, int64_t m, const uint16_t* a, int64_t stride, uint32_t* to,
                       float* sums);

// Floats or bf16 numbers, rows `row` apart; 0: one row for all. Both null: zeros.
struct PanelValues {
  const float* f32 = nullptr;
  const uint16_t* bf16 = nullptr;
  int64_t row = 0;
};

struct Panel {
  int64_t rows = 0, columns = 0, pairs = 0;  // columns: at most 64
  const uint32_t* left = nullptr;
  int64_t left_row = 0;  // distance of rows, in pairs; 0: packed, from a group's first row
  const uint32_t* right = nullptr;  // packed
  PanelValues initial;
  // The output: one of the two.
  float* f32 = nullptr;
  uint16_t* bf16 = nullptr;
  int64_t out_row = 0;
};
// out[rows, columns] = initial + left right.
void multiply_panel(const Panel& panel);

}  // namespace strata::device::cpu
