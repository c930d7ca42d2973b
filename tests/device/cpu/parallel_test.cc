#include "device/cpu/kernels/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "base/error.h"
#include "tests/support/error_of.h"

namespace strata::device::cpu {
namespace {

TEST(ParallelRanges, CoverEverythingOnce) {
  for (const int threads : {1, 3, 16}) {
    std::vector<std::atomic<int>> visits(10);
    parallel_ranges(threads, 10, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
    });
    for (const auto& count : visits) EXPECT_EQ(count, 1) << threads;
  }
}

TEST(ParallelRanges, AnErrorOfAnyThreadReachesTheCaller) {
  for (const int thrower : {0, 2, 3}) {
    EXPECT_EQ(testing_support::error_of([&] {
                parallel_ranges(4, 100, [&](int64_t, int64_t, int part) {
                  if (part == thrower) fail("part {} failed", part);
                });
              }),
              "part " + std::to_string(thrower) + " failed");
  }
}

TEST(ParallelTasks, AreEachDoneOnce) {
  for (const int threads : {1, 3, 16}) {
    std::vector<std::atomic<int>> visits(10);
    parallel_tasks(threads, 10, [&](int64_t i) { ++visits[static_cast<size_t>(i)]; });
    for (const auto& count : visits) EXPECT_EQ(count, 1) << threads;
  }
}

TEST(ParallelTasks, AnErrorOfAnyThreadReachesTheCaller) {
  for (const int64_t thrower : {0, 50, 99}) {
    EXPECT_EQ(testing_support::error_of([&] {
                parallel_tasks(4, 100, [&](int64_t i) {
                  if (i == thrower) fail("task {} failed", i);
                });
              }),
              "task " + std::to_string(thrower) + " failed");
  }
}

}  // namespace
}  // namespace strata::device::cpu
