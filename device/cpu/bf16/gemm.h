// bf16 GEMMs with AVX-512 BF16's dot products of pairs (vdpbf16ps).
#pragma once

#include <cstdint>
#include <functional>

#include "device/operations/matmul_call.h"

namespace strata::device::cpu {

// True if bf16_gemm() supports `call`: the processor has the instructions, and dtypes, strides and
// alignment fit.
bool bf16_gemm_takes(const MatmulCall& call);

// Work on a part of c right after it is computed, while it is in the cache of that core. Runs on
// several threads at once.
struct AfterPart {
  // Called as (row, rows, column, columns) when that part is complete.
  std::function<void(int64_t, int64_t, int64_t, int64_t)> call;
  // A bf16 matrix with the same layout as c, of which `call` reads the same part; it is prefetched.
  // May be null.
  const uint16_t* reads = nullptr;
};

// Like matmul(), for calls that bf16_gemm_takes(). The order of summation depends only on k; every
// 4096 terms, sums go through memory. b is packed in panels of 64 columns; a is packed if it is
// transposed, else read in place. column_sums [m], f32, receives the sums of a's columns, which are
// added if call.accumulate. It may be null, and requires a transposed a and f32 c.
void bf16_gemm(const MatmulCall& call, int threads, const AfterPart& after = {},
               float* column_sums = nullptr);

}  // namespace strata::device::cpu
