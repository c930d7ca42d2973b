#include "loadbalance/sample.h"

#include <string>

#include "base/error.h"
#include "tests/loadbalance/plan_checks.h"
#include "tests/support/matchers.h"

namespace strata::loadbalance {
namespace {

TEST(SamplesByLength, NumbersTheShortestFirst) {
  const Lengths lengths = random_lengths(30000, 3);
  const SamplesByLength samples(histogram_of(lengths));
  ASSERT_EQ(samples.size(), lengths.size());
  EXPECT_EQ(samples.longest(), lengths.back());
  for (uint32_t number = 0; number < samples.size(); ++number) {
    ASSERT_EQ(samples.length_of(number), lengths[number]) << number;
  }
  for (const uint16_t length : {0, 1, 127, 128, 511, 512, 600}) {
    EXPECT_EQ(samples.up_to(length),
              std::upper_bound(lengths.begin(), lengths.end(), length) - lengths.begin());
  }
}

TEST(SamplesByLength, AHistogramThatCannotBePlannedIsAnError) {
  const auto message = [](std::vector<LengthCount> histogram) -> std::string {
    try {
      const SamplesByLength samples(histogram);
      return "no error";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_THAT(message({{1, 1}, {65536, 2}}), HasSubstr("2 samples of 65,536 tokens"));
  EXPECT_THAT(message({{0, 1}}), HasSubstr("of 0 tokens"));
  EXPECT_THAT(message({{5, -1}}), HasSubstr("-1 samples"));
  EXPECT_THAT(message({{5, 1}, {4, 1}}), HasSubstr("4 follows 5"));
  EXPECT_THAT(message({{5, 1}, {5, 1}}), HasSubstr("5 follows 5"));
  EXPECT_THAT(message({{5, 0}}), HasSubstr("at least one"));
  EXPECT_THAT(message({{5, 4294967296}}), HasSubstr("4,294,967,296 samples"));
}

}  // namespace
}  // namespace strata::loadbalance
