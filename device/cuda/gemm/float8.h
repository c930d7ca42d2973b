// Operands of FP8 GEMMs. Rows and columns are multiples of 16.
#pragma once

#include "device/backend.h"
#include "device/cuda/gemm/column_sums.h"

namespace strata::device::cuda {

// Writes `copy` of x, which no kernel did as it wrote x. T: float, BFloat16, or Float16, of which
// none is wanted.
template <typename T>
void write_float8_copy(const Context& context, const ConstTensor& x, const Float8Copy& copy);

// `output`, or memory of scratch slot `slot` where that has only a shape.
Tensor place_of_output(const Context& context, const Tensor& output, int slot);

// codes [columns, rows] of x [rows, columns], FP8.
void transpose_float8(const Context& context, const ConstTensor& x, uint8_t* codes);

// The same of kE5M2, and the column sums of x. Uses scratch slot `slot`.
void transpose_and_sum_float8(const Context& context, const ConstTensor& x, uint8_t* codes,
                              const SumsOutput& output, int slot);

}  // namespace strata::device::cuda
