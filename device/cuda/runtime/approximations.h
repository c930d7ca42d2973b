// Functions that a GPU approximates with one instruction.
#pragma once

#include <cmath>

#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

// Returns 2^x with a relative error of 2^-22; 0 for denormal results.
__device__ inline float exp2_approximately(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return std::exp2(x);
#endif
}

// Returns 1 / x with a relative error of 2^-23; 0 for infinity.
__device__ inline float reciprocal_approximately(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1.0f / x;
#endif
}

inline constexpr float kLog2E = 1.44269504088896341f;  // log2(e)

}  // namespace strata::device::cuda
