#include "comm/buckets/bucket_ranges.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace strata::comm {
namespace {

using Ranges = std::vector<Range>;

Ranges buckets(std::vector<int64_t> boundaries, int64_t elements) {
  return make_buckets(boundaries, elements);
}

TEST(BucketRanges, JoinsSmallRangesUntilABucketIsFull) {
  EXPECT_EQ(buckets({0, 40, 80, 120, 130}, 100), (Ranges{{0, 120}, {120, 130}}));
}

TEST(BucketRanges, AnArenaThatFitsIsOneBucket) {
  EXPECT_EQ(buckets({0, 40, 80}, 1000), (Ranges{{0, 80}}));
}

TEST(BucketRanges, CutsALargeRangeAtMultiplesOf64) {
  EXPECT_EQ(buckets({0, 10, 1010}, 300), (Ranges{{0, 320}, {320, 640}, {640, 1010}}));
}

TEST(BucketRanges, TinyBucketsStillCoverTheArenaOnce) {
  const Ranges ranges = buckets({0, 7, 1000, 1001}, 1);
  int64_t expected = 0;
  for (const Range& range : ranges) {
    EXPECT_EQ(range.begin, expected);
    EXPECT_GT(range.end, range.begin);
    expected = range.end;
  }
  EXPECT_EQ(expected, 1001);
}

TEST(BucketRanges, BoundariesMustRiseFromZero) {
  EXPECT_THROW(buckets({}, 1), Error);
  EXPECT_THROW(buckets({0}, 1), Error);
  EXPECT_THROW(buckets({1, 2}, 1), Error);
  EXPECT_THROW(buckets({0, 2, 2}, 1), Error);
  EXPECT_THROW(buckets({0, 2}, 0), Error);
}

TEST(MakeBuckets, TheFirstRangeHasItsOwnBuckets) {
  const std::vector<int64_t> boundaries = {0, 100, 400, 1000};
  EXPECT_EQ(make_buckets(boundaries, 1000, {400, 900}),
            (std::vector<Range>{{400, 900}, {0, 400}, {900, 1000}}));
  EXPECT_EQ(make_buckets(boundaries, 1000, {400, 1000}),
            (std::vector<Range>{{400, 1000}, {0, 400}}));
  EXPECT_EQ(make_buckets(boundaries, 1000, {100, 400}),
            (std::vector<Range>{{100, 400}, {0, 100}, {400, 1000}}));
  EXPECT_EQ(make_buckets(boundaries, 1000, {50, 51}),
            (std::vector<Range>{{50, 51}, {0, 50}, {51, 1000}}));
  EXPECT_EQ(
      make_buckets(boundaries, 128, {0, 100}),
      (std::vector<Range>{
          {0, 100}, {100, 228}, {228, 400}, {400, 528}, {528, 656}, {656, 848}, {848, 1000}}));
}

}  // namespace
}  // namespace strata::comm
