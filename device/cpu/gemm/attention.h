// Attention of one head of one sequence by bf16 GEMMs, for processors with AMX.
#pragma once

#include "device/cpu/kernels/attention/attention_head.h"

namespace strata::device::cpu {

// Lengths are rounded up to multiples of 32, so that oneDNN compiles GEMMs of few shapes.
const AttentionKernels<uint16_t>& matmul_attention();

}  // namespace strata::device::cpu
