// Backend for x86-64 and other CPUs: oneDNN and own kernels for GEMMs, own vector kernels for the
// rest.
#pragma once

#include <memory>

#include "device/backend.h"

namespace strata::device::cpu {

// compute_dtype is kF32, kBF16 or kF16. threads 0: all processors that this process may use.
std::unique_ptr<Backend> make_cpu_backend(DType compute_dtype, int threads);

// True if the processor multiplies bf16 natively (AVX-512 BF16 or AMX), so that bf16 is faster than
// f32.
bool bf16_is_native();

}  // namespace strata::device::cpu
