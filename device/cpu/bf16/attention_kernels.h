// Self-attention of one head of one sequence in bf16. Scores of 12 queries at a time stay in the
// first-level cache, as do the probabilities of 48 (forward) or 96 (backward) queries.
#pragma once

#include <cstdint>

#include "device/cpu/kernels/attention/attention_head.h"

namespace strata::device::cpu {

// True if heads of size d are supported.
constexpr bool bf16_attention_takes(int64_t d) { return d % 16 == 0 && d <= 128; }

// Strides must be even. The process crashes if the processor lacks AVX-512 BF16; see
// multiplies_bf16_pairs().
const AttentionKernels<uint16_t>& bf16_attention();

}  // namespace strata::device::cpu
