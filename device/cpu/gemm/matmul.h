// GEMMs on the CPU, with oneDNN or own kernels.
#pragma once

#include <string>

#include "device/operations/matmul_call.h"

namespace strata::device::cpu {

// f32 runs oneDNN's sgemm, for any shape. bf16 runs bf16_gemm() if it takes the call, or else, if
// onednn_multiplies_bf16(), a oneDNN primitive compiled for exactly this shape and cached, so
// callers should use few shapes (see for_each_row_block()). Other bf16 and all f16 operands are
// widened to f32, and the result is rounded once. Uses the calling thread's OpenMP threads.
// Thread-safe.
void matmul(const MatmulCall& call);

// True if GEMMs of storage type T are compiled for their shape, so that rows should come in whole
// units.
template <typename T>
constexpr bool kCompiledMatmul = dtype_of<T>() == DType::kBF16;

// True if oneDNN multiplies bf16: the processor has AVX-512, and STRATA_CPU_ISA does not request
// less.
bool onednn_multiplies_bf16();
// True if the processor multiplies bf16 natively (AVX-512 BF16 or AMX), so that bf16 is faster than
// f32.
bool bf16_is_native();

// Version of the loaded library.
std::string onednn_version();

}  // namespace strata::device::cpu
