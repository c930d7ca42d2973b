// Writes outputs of kernels for FP8 GEMMs.
#pragma once

#include "device/backend.h"
#include "device/cuda/runtime/kernel.h"
#include "device/operations/float8.h"

namespace strata::device::cuda {

// GPUs without FP8 GEMMs write no codes.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 890
inline constexpr bool kHasFloat8 = false;
#else
inline constexpr bool kHasFloat8 = true;
#endif

// Returns two codes, x's in the lower byte.
template <typename Format>
__device__ inline uint16_t two_codes(float x, float y) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  uint16_t codes;
  if constexpr (Format::kMantissaBits == 3) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(y), "f"(x));
  } else {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(y), "f"(x));
  }
  return codes;
#else
  return static_cast<uint16_t>(to_float8<Format>(x) | static_cast<uint16_t>(to_float8<Format>(y))
                                                          << 8);
#endif
}

// Raises *to to the largest of a warp's numbers, which must not be negative. Their bits then have
// the order of the numbers, and the order of warps does not matter. Most warps skip the atomic.
__device__ inline void raise(float largest, float* to) {
  largest = warp_max(largest);
  // This multiprocessor's cache may not have updates by others.
  if (lane() == 0 && largest > __ldcg(to)) {
    atomicMax(reinterpret_cast<int*>(to), __float_as_int(largest));
  }
}

// A thread's writer for a Float8Copy.
template <typename Format>
class Float8Writer {
 public:
  __device__ explicit Float8Writer(const Float8Copy& copy)
      : codes_(copy.data.as<uint8_t>()),
        largest_memory_(copy.amax),
        scale_(codes_ ? copy.data.scale[0] : 0.0f) {}

  // x: elements [at, at + V) of the output; `at` must be a multiple of V.
  template <int V>
  __device__ void write(int64_t at, const float (&x)[V]) {
    if constexpr (kHasFloat8) {
      if (!codes_ && !largest_memory_) return;
#pragma unroll
      for (int i = 0; i < V; ++i) largest_ = fmaxf(largest_, fabsf(x[i]));
      if (codes_) write_codes(at, x);
    }
  }

  // All threads of a warp call this together, after their last write.
  __device__ void finish() {
    if (kHasFloat8 && largest_memory_) raise(largest_, largest_memory_);
  }

 private:
  template <int V>
  __device__ void write_codes(int64_t at, const float (&x)[V]) {
    if constexpr (V == 1) {
      codes_[at] = static_cast<uint8_t>(two_codes<Format>(x[0] * scale_, 0.0f));
    } else {
      Pack<uint16_t, V / 2> pack;
#pragma unroll
      for (int i = 0; i < V; i += 2) {
        pack.values[i / 2] = two_codes<Format>(x[i] * scale_, x[i + 1] * scale_);
      }
      *reinterpret_cast<Pack<uint16_t, V / 2>*>(codes_ + at) = pack;
    }
  }

  uint8_t* codes_;
  float* largest_memory_;
  float scale_;
  float largest_ = 0.0f;
};

}  // namespace strata::device::cuda
