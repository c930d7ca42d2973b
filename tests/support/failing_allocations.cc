#include "tests/support/failing_allocations.h"

#include <cstdlib>
#include <new>

namespace strata::testing_support {

constinit thread_local int allocations_left = -1;

}  // namespace strata::testing_support

using strata::testing_support::allocations_left;

// Both forms, with and without exceptions, must match operator delete.
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  if (allocations_left >= 0 && allocations_left-- == 0) return nullptr;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void* operator new(size_t bytes) {
  if (void* memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
