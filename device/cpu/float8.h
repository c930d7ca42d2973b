// Operands of FP8 GEMMs, and what writes them. There are no such GEMMs here: codes are
// turned into the numbers that they stand for, and those multiplied as ever.
#pragma once

#include "device/cpu/kernels/parallel.h"

namespace strata::device::cpu {

// A tensor of T as it is; the numbers of an FP8 one, in scratch slot `slot`.
template <typename T>
const T* operand(const Context& context, const ConstTensor& tensor, int slot);

// `output`, or memory of scratch slot `slot` where that has only a shape.
template <typename T>
Tensor place_of_output(const Context& context, const Tensor& output, int slot);

// Writes `copy` of `tensor`.
template <typename T>
void write_copy(const Context& context, const ConstTensor& tensor, const Float8Copy& copy);

}  // namespace strata::device::cpu
