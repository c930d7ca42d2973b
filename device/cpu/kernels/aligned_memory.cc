#include "device/cpu/kernels/aligned_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace strata::device::cpu {

void* allocate_aligned(size_t bytes) {
  constexpr size_t kCacheLine = 64, kHugePage = size_t{2} << 20;
  const bool large = bytes >= kHugePage;
  if (bytes > std::numeric_limits<size_t>::max() - kHugePage) return nullptr;
  const size_t rounded = std::max((bytes + kCacheLine - 1) / kCacheLine * kCacheLine, kCacheLine);
  void* memory = nullptr;
  if (::posix_memalign(&memory, large ? kHugePage : kCacheLine, rounded) != 0) return nullptr;
  // Only advice, because small pages work, too.
  if (large) ::madvise(memory, rounded / kHugePage * kHugePage, MADV_HUGEPAGE);
  return memory;
}

}  // namespace strata::device::cpu
