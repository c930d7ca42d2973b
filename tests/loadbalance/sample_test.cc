#include "loadbalance/sample.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "tests/loadbalance/plan_checks.h"

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
  EXPECT_NE(message({{1, 1}, {65536, 2}}).find("2 samples of 65,536 tokens"), std::string::npos);
  EXPECT_NE(message({{0, 1}}).find("of 0 tokens"), std::string::npos);
  EXPECT_NE(message({{5, -1}}).find("-1 samples"), std::string::npos);
  EXPECT_NE(message({{5, 1}, {4, 1}}).find("4 follows 5"), std::string::npos);
  EXPECT_NE(message({{5, 1}, {5, 1}}).find("5 follows 5"), std::string::npos);
  EXPECT_NE(message({{5, 0}}).find("at least one"), std::string::npos);
  EXPECT_NE(message({{5, 4294967296}}).find("4,294,967,296 samples"), std::string::npos);
}

}  // namespace
}  // namespace strata::loadbalance
