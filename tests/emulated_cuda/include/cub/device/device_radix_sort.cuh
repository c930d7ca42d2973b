// The one function of CUB that Strata's kernels use.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace cub {

struct DeviceRadixSort {
  // Sorts by the lowest `end_bit` bits; stable.
  template <typename Key, typename Value>
  static cudaError_t SortPairs(void* temporary, size_t& bytes, const Key* keys, Key* sorted_keys,
                               const Value* values, Value* sorted_values, int count, int,
                               int end_bit, cudaStream_t) {
    bytes = 1;
    if (!temporary) return cudaSuccess;
    return emulated_cuda::issue("SortPairs", [=] {
      ++emulated_cuda::changes;
      const auto digits = [&](int i) { return keys[i] & ((Key{1} << end_bit) - 1); };
      std::vector<int> order(static_cast<size_t>(count));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int a, int b) { return digits(a) < digits(b); });
      for (int i = 0; i < count; ++i) {
        sorted_keys[i] = keys[order[static_cast<size_t>(i)]];
        sorted_values[i] = values[order[static_cast<size_t>(i)]];
      }
    });
  }
};

}  // namespace cub
