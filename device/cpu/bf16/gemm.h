// bf16 GEMMs by products of pairs of bf16 numbers.
#pragma once

#include <cstdint>
#include <functional>

#include "device/matmul_call.h"

namespace strata::device::cpu {

// Whether bf16_gemm() computes it: here, and of this kind.
bool bf16_gemm_takes(const MatmulCall& call);

// after(row, rows, column, columns): that part of c is complete. From any of the threads; it is in
// their caches.
using AfterPart = std::function<void(int64_t, int64_t, int64_t, int64_t)>;

// As matmul(). Every element is summed up in an order that depends on k alone. b is packed panel by
// panel of 64 columns, a where it is transposed; up to 4096 of k are summed in registers.
void bf16_gemm(const MatmulCall& call, int threads, const AfterPart& after = {});

}  // namespace strata::device::cpu
