// Kernels over flat ranges: each thread takes a pack of elements if every array is 16-byte aligned,
// else one element.
#pragma once

#include <cmath>
#include <type_traits>

#include "device/cuda/runtime/kernel.h"

namespace strata::device::cuda {

inline constexpr int kFlatThreads = 256;

// Returns the index of this thread's first element.
template <int V>
__device__ inline int64_t flat_index() {
  return (static_cast<int64_t>(blockIdx.x) * kFlatThreads + threadIdx.x) * V;
}

// Returns the distance to a thread's next elements, if there are fewer threads than elements.
template <int V>
__device__ inline int64_t flat_stride() {
  return static_cast<int64_t>(gridDim.x) * kFlatThreads * V;
}

template <int V>
using Width = std::integral_constant<int, V>;

// True if as many elements of T as there are floats in 16 bytes can be accessed at once. Shards of
// sharded state may begin at smaller multiples.
template <typename T>
bool suits_packs(const void* memory) {
  return are_aligned<kVector<float>* static_cast<int>(sizeof(T))>(memory);
}

// Calls body(Width<V>, begin, count, blocks) for the part of [0, count) that is processed V
// elements at a time, 16 bytes of T, if all memory is `aligned` to V elements; then for the rest.
template <typename T = float, typename Body>
void for_flat_parts(int64_t count, bool aligned, const Body& body) {
  constexpr int V = kVector<T>;
  const int64_t wide = aligned ? count / V * V : 0;
  if (wide > 0) body(Width<V>{}, int64_t{0}, wide, ceil_div(wide / V, kFlatThreads));
  if (wide < count) {
    body(Width<1>{}, wide, count - wide, ceil_div(count - wide, kFlatThreads));
  }
}

// Returns `data` from element `begin`, or null if `data` is null, for kernels that count from 0. If
// compilers do not know that an index is a multiple of V, they access single words.
template <typename T>
T* part_of(T* data, int64_t begin) {
  return data ? data + begin : nullptr;
}

// Limits blocks for kernels whose threads loop with flat_stride: few enough to amortise every
// thread's setup, and enough that the last ones do not leave the device idle.
inline int64_t limited_blocks(const Context& context, int64_t blocks) {
  const int64_t most = 32 * int64_t{context.multiprocessors};
  return blocks < most ? blocks : most;
}

// Returns min(1, max_norm / sqrt(*norm_squared)), or 1 without a norm.
__device__ inline float clip_factor(const double* norm_squared, float max_norm) {
  if (!norm_squared) return 1.0f;
  const double norm = sqrt(*norm_squared);
  return norm > static_cast<double>(max_norm) ? static_cast<float>(max_norm / norm) : 1.0f;
}

}  // namespace strata::device::cuda
