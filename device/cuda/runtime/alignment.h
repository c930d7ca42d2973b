// Checks that memory is aligned for 16-byte or narrower accesses.
#pragma once

#include <cstdint>

namespace strata::device::cuda {

template <int kBytes = 16, typename... Pointers>
bool are_aligned(Pointers... pointers) {
  return ((reinterpret_cast<uintptr_t>(pointers) % kBytes == 0) && ...);
}

// True if rows of `columns` elements in all these arrays can be accessed 16 bytes, or `vector`
// elements, at a time.
template <typename... Pointers>
bool rows_are_aligned(int64_t columns, int64_t vector, Pointers... pointers) {
  return columns % vector == 0 && are_aligned(pointers...);
}

}  // namespace strata::device::cuda
