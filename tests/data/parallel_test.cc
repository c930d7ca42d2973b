#include "data/parallel.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

namespace strata::data {
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

TEST(MapRanges, RethrowsAnError) {
  const auto throw_late = [](size_t, size_t end) -> int {
    if (end == 10) throw std::runtime_error("late");
    return 0;
  };
  EXPECT_THROW(map_ranges<int>(10, 3, throw_late), std::runtime_error);
}

}  // namespace
}  // namespace strata::data
