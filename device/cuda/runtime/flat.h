// Kernels over flat ranges: a pack of elements a thread where every array is aligned to 16 bytes,
// else one.
#pragma once

#include <cmath>
#include <type_traits>

#include "device/cuda/runtime/kernel.h"

namespace strata::device::cuda {

inline constexpr int kFlatThreads = 256;

// The first of this thread's V elements.
template <int V>
__device__ inline int64_t flat_index() {
  return (static_cast<int64_t>(blockIdx.x) * kFlatThreads + threadIdx.x) * V;
}

// How far it is to the next ones, where there are fewer threads than elements.
template <int V>
__device__ inline int64_t flat_stride() {
  return static_cast<int64_t>(gridDim.x) * kFlatThreads * V;
}

template <int V>
using Width = std::integral_constant<int, V>;

// Whether as many elements of T as there are floats in 16 bytes can be accessed at once: where
// state is sharded, shards begin at multiples of fewer than fill 16 bytes.
template <typename T>
bool suits_packs(const void* memory) {
  return are_aligned<kVector<float>* static_cast<int>(sizeof(T))>(memory);
}

// Calls body(Width<V>, begin, count, blocks) for the part of [0, count) that goes V elements at a
// time, 16 bytes of T, where all memory is `aligned` to V elements; then for the rest.
template <typename T = float, typename Body>
void for_flat_parts(int64_t count, bool aligned, const Body& body) {
  constexpr int V = kVector<T>;
  const int64_t wide = aligned ? count / V * V : 0;
  if (wide > 0) body(Width<V>{}, int64_t{0}, wide, ceil_div(wide / V, kFlatThreads));
  if (wide < count) {
    body(Width<1>{}, wide, count - wide, ceil_div(count - wide, kFlatThreads));
  }
}

// What begins at element `begin` of `data`, which may be null, for kernels that count from 0: of an
// index that is not known to be a multiple of V, compilers make accesses of single words.
template <typename T>
T* part_of(T* data, int64_t begin) {
  return data ? data + begin : nullptr;
}

// So few blocks that what every thread begins with does not count, and so many that the last ones
// do not leave the device idle: for kernels whose threads go on by flat_stride.
inline int64_t limited_blocks(const Context& context, int64_t blocks) {
  const int64_t most = 32 * int64_t{context.multiprocessors};
  return blocks < most ? blocks : most;
}

// min(1, max_norm / sqrt(*norm_squared)); 1 where there is no norm.
__device__ inline float clip_factor(const double* norm_squared, float max_norm) {
  if (!norm_squared) return 1.0f;
  const double norm = sqrt(*norm_squared);
  return norm > static_cast<double>(max_norm) ? static_cast<float>(max_norm / norm) : 1.0f;
}

}  // namespace strata::device::cuda
