// Memory for arrays that threads work on.
#pragma once

#include <cstddef>

namespace strata::device::cpu {

// 64-byte aligned, not cleared; null where there is none. std::free() takes it back. From 2 MB on
// it lies in huge pages where the system has them to give: programs that read large matrices by
// columns look up fewer addresses then.
void* allocate_aligned(size_t bytes);

}  // namespace strata::device::cpu
