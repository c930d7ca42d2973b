// The parts of a bf16 GEMM that are compiled for AVX-512 BF16: packing of operands as pairs, and
// the product of a panel. The process crashes if the processor lacks the instructions; see
// multiplies_bf16_pairs().
#pragma once

#include <cstdint>

namespace strata::device::cpu {

// Columns of a panel, and rows packed together in a left operand.
constexpr int64_t kPanelColumns = 64, kPackedRows = 6;

// Writes to[(k + 1) / 2, 64], pairs of b [k, n], or of its transpose [n, k], with rows `stride`
// apart. Columns from n, at most 64, up to a multiple of 16 are zero.
void pack_right_operand(bool transposed, int64_t k, int64_t n, const uint16_t* b, int64_t stride,
                        uint32_t* to);

// Writes groups of six rows, each to[(k + 1) / 2, 6], pairs of a's transpose, for a [k, m] with
// rows `stride` apart. `to` has memory for whole groups. Adds a's column sums to sums[m], unless
// null.
void pack_left_operand(int64_t k, int64_t m, const uint16_t* a, int64_t stride, uint32_t* to,
                       float* sums);

// f32 or bf16 numbers with rows `row` apart; 0: all rows share one. If both are null, zeros.
struct PanelValues {
  const float* f32 = nullptr;
  const uint16_t* bf16 = nullptr;
  int64_t row = 0;
};

struct Panel {
  int64_t rows = 0, columns = 0, pairs = 0;  // at most 64 columns
  const uint32_t* left = nullptr;
  int64_t left_row = 0;  // distance of rows, in pairs; 0: packed, from a group's first row
  const uint32_t* right = nullptr;  // packed
  PanelValues initial;
  // The output: exactly one of the two.
  float* f32 = nullptr;
  uint16_t* bf16 = nullptr;
  int64_t out_row = 0;
};
// out[rows, columns] = initial + left right.
void multiply_panel(const Panel& panel);

}  // namespace strata::device::cpu
