#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
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

TEST(MapRanges, RethrowsAnError) {
  const auto throw_late = [](size_t, size_t end) -> int {
    if (end == 10) throw std::runtime_error("late");
    return 0;
  };
  EXPECT_THROW(map_ranges<int>(10, 3, throw_late), std::runtime_error);
}

}  // namespace
}  // namespace strata
