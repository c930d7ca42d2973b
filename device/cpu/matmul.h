// GEMMs on the CPU, through oneDNN.
#pragma once

#include <string>

#include "device/matmul_call.h"

namespace strata::device::cpu {

// f32 runs oneDNN's sgemm, for any shape. bf16 runs a primitive compiled for exactly this shape and
// kept, so callers keep the set of shapes small (see RowBlocks). Uses the calling thread's OpenMP
// threads; may be called from several threads at once.
void matmul(const MatmulCall& call);

// Why bf16 GEMMs cannot run here; empty where they can.
const char* bf16_unavailable_reason();
// Whether the processor multiplies bf16 natively (AVX-512 BF16 or AMX), so that bf16 is faster than
// f32.
bool bf16_is_native();

// Of the library that computes them.
std::string onednn_version();

}  // namespace strata::device::cpu
