// Operands of FP8 GEMMs. Numbers of rows and columns are multiples of 16.
#pragma once

#include "device/backend.h"
#include "device/cuda/gemm/column_sums.h"

namespace strata::device::cuda {

// Writes `copy` of x in a separate pass, for kernels that do not write it themselves. T: float,
// BFloat16, or Float16, which never has a copy.
template <typename T>
void write_float8_copy(const Context& context, const ConstTensor& x, const Float8Copy& copy);

// Returns `output`, or memory of scratch slot `slot` if `output` has only a shape.
Tensor place_of_output(const Context& context, const Tensor& output, int slot);

// Writes codes [columns, rows] of x [rows, columns], FP8.
void transpose_float8(const Context& context, const ConstTensor& x, uint8_t* codes);

// The same for kE5M2, with the column sums of x. Uses scratch slot `slot`.
void transpose_and_sum_float8(const Context& context, const ConstTensor& x, uint8_t* codes,
                              const SumsOutput& output, int slot);

}  // namespace strata::device::cuda
