// FP8 emulation: CPUs have no FP8 GEMMs, so FP8 codes are decoded to numbers for the usual GEMMs.
#pragma once

#include "device/cpu/kernels/parallel.h"

namespace strata::device::cpu {

// Returns a tensor of T unchanged, or the decoded FP8 tensor in scratch slot `slot`.
template <typename T>
const T* operand(const Context& context, const ConstTensor& tensor, int slot);

// Returns `output`, or memory of scratch slot `slot` if `output` has only a shape.
template <typename T>
Tensor place_of_output(const Context& context, const Tensor& output, int slot);

// Writes `copy` of `tensor`.
template <typename T>
void write_copy(const Context& context, const ConstTensor& tensor, const Float8Copy& copy);

}  // namespace strata::device::cpu
