// Memory for arrays.
#pragma once

#include <cstddef>

namespace strata::device::cpu {

// Returns 64-byte aligned, uninitialised memory, or null; free it with std::free(). From 2 MB on it
// uses huge pages if possible, which reduces address look-ups when large matrices are read by
// columns.
void* allocate_aligned(size_t bytes);

}  // namespace strata::device::cpu
