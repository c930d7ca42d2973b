// The table of each instruction set. The process crashes if the processor lacks a called kernel's
// instructions.
#pragma once

#include "device/cpu/kernels/table.h"

namespace strata::device::cpu {

const VectorKernels& portable_kernels();
const VectorKernels& avx2_kernels();    // AVX2, FMA, F16C, BMI (x86-64-v3)
const VectorKernels& avx512_kernels();  // AVX-512 F, BW, CD, DQ, VL (x86-64-v4)

}  // namespace strata::device::cpu
