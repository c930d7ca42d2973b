// Matrix products on the CPU, through oneDNN.
#pragma once

#include <cstdint>

#include "device/dtype.h"

namespace strata::device::cpu {

// c[m, n] = op(a) op(b), all row-major; `lda`, `ldb`, `ldc` are distances between rows in elements.
struct MatmulCall {
  bool transpose_a = false;  // a is stored [k, m]
  bool transpose_b = false;  // b is stored [n, k]
  int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  int64_t lda = 0;
  const void* b = nullptr;
  int64_t ldb = 0;
  void* c = nullptr;
  int64_t ldc = 0;
  const void* bias = nullptr;  // [n] of the inputs' dtype, added to every row
  bool accumulate = false;     // c += instead of c =
  DType input_dtype = DType::kF32;
  DType output_dtype = DType::kF32;  // kBF16 only with kBF16 inputs
};

// f32 runs oneDNN's sgemm, for any shape. bf16 runs a primitive compiled for exactly this shape and
// kept, so callers keep the set of shapes small (see RowBlocks). Uses the calling thread's OpenMP
// threads; may be called from several threads at once.
void matmul(const MatmulCall& call);

// Why bf16 products cannot run here; empty where they can.
const char* bf16_unavailable_reason();
// Whether the processor multiplies bf16 natively (AVX-512 BF16 or AMX), so that bf16 is faster than
// f32.
bool bf16_is_native();

}  // namespace strata::device::cpu
