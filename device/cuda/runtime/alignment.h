// Whether memory suits accesses of 16 bytes, or of fewer.
#pragma once

#include <cstdint>

namespace strata::device::cuda {

template <int kBytes = 16, typename... Pointers>
bool are_aligned(Pointers... pointers) {
  return ((reinterpret_cast<uintptr_t>(pointers) % kBytes == 0) && ...);
}

// Whether rows of `columns` elements of every one of these arrays can be accessed 16 bytes at a
// time, `vector` elements each.
template <typename... Pointers>
bool rows_are_aligned(int64_t columns, int64_t vector, Pointers... pointers) {
  return columns % vector == 0 && are_aligned(pointers...);
}

}  // namespace strata::device::cuda
