#include "base/threads/per_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <string>
#include <thread>

#include "tests/support/failing_allocations.h"

namespace strata {
namespace {

using testing_support::allocations_left;

TEST(PerThread, EveryThreadHasItsOwnValueUntilItEnds) {
  static std::atomic<int> alive = 0;
  struct Counted {
    explicit Counted(int first) : value(first) { ++alive; }
    ~Counted() { --alive; }
    int value;
  };
  static PerThread<Counted> counters;
  const auto count = [](int first) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(counters.get(first).value++, first + i);
  };
  std::thread([&] {
    count(10);
    std::thread(count, 20).join();
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(counters.get(0).value, 13);
  }).join();
  EXPECT_EQ(alive, 0);
}

// Memory may be short for the value itself, or for its contents.
TEST(PerThread, AFailedAllocationThrowsAndALaterCallSucceeds) {
  static PerThread<std::string> texts;
  std::thread([] {
    const std::string text(100, 'x');
    for (const int succeed : {0, 1}) {
      allocations_left = succeed;
      EXPECT_THROW(texts.get(text), std::bad_alloc);
    }
    EXPECT_EQ(allocations_left, -1);
    EXPECT_EQ(texts.get(text), text);
  }).join();
}

}  // namespace
}  // namespace strata
