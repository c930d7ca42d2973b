#include "tests/support/failing_allocations.h"

#include <cstdlib>
#include <new>

namespace strata::testing_support {

constinit thread_local int allocations_left = -1;

}  // namespace strata::testing_support

using strata::testing_support::allocations_left;

[[gnu::noinline]] void* operator new(size_t bytes) {
  if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
