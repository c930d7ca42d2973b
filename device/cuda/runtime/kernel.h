// Common code of kernels: launches, 16-byte accesses, sums over warps and blocks.
#pragma once

#include <bit>
#include <utility>

#include "device/cuda/runtime/alignment.h"
#include "device/cuda/runtime/runtime.h"
#include "device/operations/dropout.h"
#include "device/operations/dtype.h"

namespace strata::device::cuda {

inline constexpr int kWarpSize = 32;

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Starts `blocks` x `threads` of a kernel; does nothing for zero blocks. `threads` is a multiple of
// 32.
template <typename... Parameters, typename... Arguments>
void launch(cudaStream_t stream, dim3 blocks, int threads, void (*kernel)(Parameters...),
            Arguments&&... arguments) {
  if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0) return;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.stream = stream;
  check(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...),
        "starting a kernel");
}

template <typename... Parameters, typename... Arguments>
void launch(cudaStream_t stream, int64_t blocks, int threads, void (*kernel)(Parameters...),
            Arguments&&... arguments) {
  launch(stream, dim3(static_cast<unsigned>(blocks)), threads, kernel,
         std::forward<Arguments>(arguments)...);
}

// Elements of T in one 16-byte access.
template <typename T>
inline constexpr int kVector = 16 / static_cast<int>(sizeof(T));

template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T values[kCount];
};

// Returns two numbers rounded to bfloat16, with `low` in the lower half.
__device__ inline uint32_t two_bfloat16(float low, float high) {
#ifdef __CUDA_ARCH__
  uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
#else
  return uint32_t{BFloat16(low).bits} | uint32_t{BFloat16(high).bits} << 16;
#endif
}

// The same for binary16.
__device__ inline uint32_t two_float16(float low, float high) {
#ifdef __CUDA_ARCH__
  uint32_t both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
#else
  return uint32_t{to_float16(low)} | uint32_t{to_float16(high)} << 16;
#endif
}

__device__ inline float wide_float16(uint16_t bits) {
#ifdef __CUDA_ARCH__
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(bits));
  return wide;
#else
  return from_float16(bits);
#endif
}

// Convert between two 16-bit numbers in a word and floats. The first argument selects the type.
__device__ inline uint32_t word_of(BFloat16, float low, float high) {
  return two_bfloat16(low, high);
}
__device__ inline uint32_t word_of(Float16, float low, float high) {
  return two_float16(low, high);
}
__device__ inline void unpack(BFloat16, uint32_t word, float& low, float& high) {
  low = std::bit_cast<float>(word << 16);
  high = std::bit_cast<float>(word & 0xffff0000u);
}
__device__ inline void unpack(Float16, uint32_t word, float& low, float& high) {
  low = wide_float16(static_cast<uint16_t>(word));
  high = wide_float16(static_cast<uint16_t>(word >> 16));
}

// Loads V consecutive elements in accesses of at most 16 bytes. `from` must be aligned to them.
template <int V>
__device__ inline void load(const float* from, float (&x)[V]) {
  constexpr int kCount = V < 4 ? V : 4;
#pragma unroll
  for (int i = 0; i < V; i += kCount) {
    const auto pack = *reinterpret_cast<const Pack<float, kCount>*>(from + i);
#pragma unroll
    for (int j = 0; j < kCount; ++j) x[i + j] = pack.values[j];
  }
}

// Loads words of two 16-bit elements, because each half word would take an instruction.
template <int V, typename T>
requires(sizeof(T) == 2) __device__ inline void load(const T* from, float (&x)[V]) {
  if constexpr (V == 1) {
    float unused;
    unpack(T{}, from->bits, x[0], unused);
  } else {
    constexpr int kWords = V < 8 ? V / 2 : 4;
#pragma unroll
    for (int i = 0; i < V; i += 2 * kWords) {
      const auto pack = *reinterpret_cast<const Pack<uint32_t, kWords>*>(from + i);
#pragma unroll
      for (int j = 0; j < kWords; ++j) {
        unpack(T{}, pack.values[j], x[i + 2 * j], x[i + 2 * j + 1]);
      }
    }
  }
}

template <int V>
__device__ inline void store(float* to, const float (&x)[V]) {
  constexpr int kCount = V < 4 ? V : 4;
#pragma unroll
  for (int i = 0; i < V; i += kCount) {
    Pack<float, kCount> pack;
#pragma unroll
    for (int j = 0; j < kCount; ++j) pack.values[j] = x[i + j];
    *reinterpret_cast<Pack<float, kCount>*>(to + i) = pack;
  }
}

template <int V, typename T>
requires(sizeof(T) == 2) __device__ inline void store(T* to, const float (&x)[V]) {
  if constexpr (V == 1) {
    to->bits = static_cast<uint16_t>(word_of(T{}, x[0], 0.0f));
  } else {
    constexpr int kWords = V < 8 ? V / 2 : 4;
#pragma unroll
    for (int i = 0; i < V; i += 2 * kWords) {
      Pack<uint32_t, kWords> pack;
#pragma unroll
      for (int j = 0; j < kWords; ++j) {
        pack.values[j] = word_of(T{}, x[i + 2 * j], x[i + 2 * j + 1]);
      }
      *reinterpret_cast<Pack<uint32_t, kWords>*>(to + i) = pack;
    }
  }
}

__device__ inline int lane() { return static_cast<int>(threadIdx.x) % kWarpSize; }
__device__ inline int warp() { return static_cast<int>(threadIdx.x) / kWarpSize; }

struct Sum {
  template <typename Number>
  __device__ Number operator()(Number a, Number b) const {
    return a + b;
  }
};
struct Max {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// Combines the values of all lanes, in the same order on every run. Every lane gets the result.
template <typename Combine, typename Number>
__device__ inline Number warp_reduce(Number x) {
#pragma unroll
  for (int distance = kWarpSize / 2; distance > 0; distance /= 2) {
    x = Combine{}(x, __shfl_xor_sync(0xffffffffu, x, distance));
  }
  return x;
}

// Returns the same result to every thread of the block. All threads call together.
template <int kThreads, typename Combine, typename Number>
__device__ inline Number block_reduce(Number x) {
  constexpr int kWarps = kThreads / kWarpSize;
  __shared__ Number parts[kWarps];
  x = warp_reduce<Combine>(x);
  __syncthreads();
  if (lane() == 0) parts[warp()] = x;
  __syncthreads();
  Number result = parts[0];
#pragma unroll
  for (int i = 1; i < kWarps; ++i) result = Combine{}(result, parts[i]);
  return result;
}

template <typename Number>
__device__ inline Number warp_sum(Number x) {
  return warp_reduce<Sum>(x);
}
__device__ inline float warp_max(float x) { return warp_reduce<Max>(x); }
template <int kThreads, typename Number>
__device__ inline Number block_sum(Number x) {
  return block_reduce<kThreads, Sum>(x);
}
template <int kThreads>
__device__ inline float block_max(float x) {
  return block_reduce<kThreads, Max>(x);
}

}  // namespace strata::device::cuda
