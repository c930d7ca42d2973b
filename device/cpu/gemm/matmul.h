// GEMMs on the CPU, with oneDNN or own kernels.
#pragma once

#include <string>

#include "device/operations/matmul_call.h"

namespace strata::device::cpu {

// f32 runs oneDNN's sgemm, for any shape. f16 is widened to f32 and rounded once when it is stored,
// because processors without f16 arithmetic must do so. bf16 runs bf16_gemm() if it takes the call,
// else a oneDNN primitive compiled for exactly this shape and cached, so callers should use few
// shapes (see for_each_row_block()). Uses the calling thread's OpenMP threads. Thread-safe.
void matmul(const MatmulCall& call);

// True if GEMMs of storage type T are compiled for their shape, so that rows should come in whole
// units.
template <typename T>
constexpr bool kCompiledMatmul = dtype_of<T>() == DType::kBF16;

// Returns the reason why bf16 GEMMs cannot run here, or an empty string.
const char* bf16_unavailable_reason();
// True if the processor multiplies bf16 natively (AVX-512 BF16 or AMX), so that bf16 is faster than
// f32.
bool bf16_is_native();

// Version of the loaded library.
std::string onednn_version();

}  // namespace strata::device::cpu
