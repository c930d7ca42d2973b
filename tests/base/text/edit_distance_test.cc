#include "base/text/edit_distance.h"

#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

TEST(EditDistance, CountsChangedAddedAndLeftOutBytes) {
  struct Case {
    const char *a, *b;
    size_t distance;
  };
  for (const Case& one :
       {Case{"", "", 0}, Case{"", "abc", 3}, Case{"same", "same", 0}, Case{"kitten", "sitting", 3},
        Case{"flaw", "lawn", 2}, Case{"epsilon", "epsilom", 1}}) {
    EXPECT_EQ(edit_distance(one.a, one.b, 10), one.distance) << one.a << ' ' << one.b;
    EXPECT_EQ(edit_distance(one.b, one.a, 10), one.distance) << one.b << ' ' << one.a;
  }
}

TEST(EditDistance, ADistanceAboveTheLimitIsOnlyReportedAsAboveIt) {
  EXPECT_GT(edit_distance("", "abc", 2), 2u);
  EXPECT_GT(edit_distance("abc", "xyz", 2), 2u);
  EXPECT_EQ(edit_distance("abc", "xyz", 3), 3u);
  const std::string longest(200, 'a');
  EXPECT_EQ(edit_distance(longest, longest, 2), 0u);
  EXPECT_GT(edit_distance(longest + 'a', longest + 'a', 2), 2u);
}

}  // namespace
}  // namespace strata
