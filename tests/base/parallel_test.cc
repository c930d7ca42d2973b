#include "base/threads/parallel.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace strata {
namespace {

using Range = std::pair<size_t, size_t>;

TEST(MapRanges, CoversEverythingOnceInOrder) {
  for (const size_t count : {0, 1, 7, 100}) {
    for (const unsigned threads : {0u, 1u, 3u, 16u}) {
      size_t next = 0;
      for (const Range& range : map_ranges<Range>(
               count, threads, [](size_t begin, size_t end) { return Range(begin, end); })) {
        EXPECT_EQ(range.first, next);
        next = range.second;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(ParallelFor, VisitsEverythingOnce) {
  for (const unsigned threads : {0u, 1u, 3u, 16u}) {
    std::vector<std::atomic<int>> visits(100);
    parallel_for(visits.size(), threads, [&](size_t i) { ++visits[i]; });
    for (const auto& count : visits) EXPECT_EQ(count, 1);
  }
}

TEST(ParallelFor, RethrowsAnErrorAndEndsTheWork) {
  std::atomic<int> begun = 0;
  const auto throw_soon = [&](size_t i) {
    ++begun;
    if (i == 3) throw std::runtime_error("soon");
  };
  EXPECT_THROW(parallel_for(1000, 1, throw_soon), std::runtime_error);
  EXPECT_EQ(begun, 4);
}

TEST(ParallelFor, RethrowsAnErrorOfAnyThread) {
  for (const size_t thrower : {0, 17, 99}) {
    EXPECT_THROW(parallel_for(100, 4,
                              [&](size_t i) {
                                if (i == thrower) throw std::runtime_error("one");
                              }),
                 std::runtime_error);
  }
}

// Threads cannot be started if their stack exceeds the address space.
TEST(Parallel, DoesAllWorkIfThreadsCannotBeStarted) {
  pthread_attr_t before, huge;
  pthread_getattr_default_np(&before);
  pthread_getattr_default_np(&huge);
  pthread_attr_setstacksize(&huge, size_t{1} << 60);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  std::vector<std::atomic<int>> visits(100);
  EXPECT_THROW(std::thread([] {}).join(), std::system_error) << "the test tests nothing";
  parallel_for(visits.size(), 4, [&](size_t i) { ++visits[i]; });
  const auto parts = map_ranges<size_t>(9, 3, [](size_t begin, size_t end) { return end - begin; });
  pthread_setattr_default_np(&before);
  EXPECT_EQ(parts, std::vector<size_t>(3, 3));
  for (const auto& count : visits) EXPECT_EQ(count, 1);
}

TEST(MapRanges, RethrowsAnError) {
  const auto throw_late = [](size_t, size_t end) -> int {
    if (end == 10) throw std::runtime_error("late");
    return 0;
  };
  EXPECT_THROW(map_ranges<int>(10, 3, throw_late), std::runtime_error);
}

}  // namespace
}  // namespace strata
