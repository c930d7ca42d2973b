// GEMMs on the CPU, through oneDNN or by kernels of our own.
#pragma once

#include <string>

#include "device/operations/matmul_call.h"

namespace strata::device::cpu {

// f32 runs oneDNN's sgemm, for any shape. f16 does so, too, widened to f32; what is stored in f16
// is rounded once, as processors without arithmetic in f16 must. bf16 runs bf16_gemm() where that
// takes the call, else a oneDNN primitive compiled for exactly this shape and kept, so callers keep
// the set of shapes small (see for_each_row_block()). Uses the calling thread's OpenMP threads; may
// be called from several threads at once.
void matmul(const MatmulCall& call);

// Whether those of storage type T are compiled for their shape, so that rows come in whole units.
template <typename T>
constexpr bool kCompiledMatmul = dtype_of<T>() == DType::kBF16;

// Why bf16 GEMMs cannot run here; empty where they can.
const char* bf16_unavailable_reason();
// Whether the processor multiplies bf16 natively (AVX-512 BF16 or AMX), so that bf16 is faster than
// f32.
bool bf16_is_native();

// Of the library that is loaded.
std::string onednn_version();

}  // namespace strata::device::cpu
