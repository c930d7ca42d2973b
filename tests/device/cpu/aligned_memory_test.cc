#include "device/cpu/kernels/aligned_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace strata::device::cpu {
namespace {

TEST(AlignedMemory, BeginsAtACacheLineAndHoldsItsBytes) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{65}, (size_t{2} << 20) - 1,
                             size_t{2} << 20, (size_t{5} << 20) + 1}) {
    void* memory = allocate_aligned(bytes);
    ASSERT_NE(memory, nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u) << bytes;
    std::memset(memory, 1, bytes);
    std::free(memory);
  }
}

TEST(AlignedMemory, IsNullIfMemoryIsShort) {
#ifndef __SANITIZE_ADDRESS__  // ends the program instead
  EXPECT_EQ(allocate_aligned(std::numeric_limits<size_t>::max() / 2), nullptr);
#endif
  EXPECT_EQ(allocate_aligned(std::numeric_limits<size_t>::max()), nullptr);
}

}  // namespace
}  // namespace strata::device::cpu
