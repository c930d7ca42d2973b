// bf16 GEMMs by AVX-512 BF16's dot products of pairs (vdpbf16ps).
#pragma once

#include <cstdint>
#include <functional>

#include "device/operations/matmul_call.h"

namespace strata::device::cpu {

// Whether bf16_gemm() can compute `call`: the processor has the instructions, and dtypes, strides
// and alignment suit it.
bool bf16_gemm_takes(const MatmulCall& call);

// What follows a part of c, on the thread that computed it, while it is in that core's cache: on
// several threads at once.
struct AfterPart {
  // (row, rows, column, columns): that part is complete.
  std::function<void(int64_t, int64_t, int64_t, int64_t)> call;
  // A bf16 matrix that lies as c does, of which `call` reads that part: it is fetched meanwhile.
  // Null: none.
  const uint16_t* reads = nullptr;
};

// As matmul(), for calls that bf16_gemm_takes(). The order in which an element is summed depends on
// k alone; every 4096 terms the sums go through memory. b is packed in panels of 64 columns; a is
// packed where it is transposed, else read in place. column_sums [m], f32, or null: the sums of a's
// columns, written, or added where call.accumulate; only where a is transposed and c is f32.
void bf16_gemm(const MatmulCall& call, int threads, const AfterPart& after = {},
               float* column_sums = nullptr);

}  // namespace strata::device::cpu
