#include "data/text/random.h"

#include <gtest/gtest.h>

#include <array>

namespace strata::data {
namespace {

TEST(Random, IsTheSameOnEveryPlatform) {
  // The published test vector of SplitMix64 for the seed 1234567.
  Random random = Random::from_state(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317u);
  EXPECT_EQ(random.next(), 3203168211198807973u);
  EXPECT_EQ(random.next(), 9817491932198370423u);
}

TEST(Random, DifferentKeysAndOrdersGiveDifferentStreams) {
  EXPECT_EQ(Random({1, 2, 3}).next(), Random({1, 2, 3}).next());
  EXPECT_NE(Random({1, 2, 3}).next(), Random({1, 3, 2}).next());
  EXPECT_NE(Random({1, 2, 3}).next(), Random({1, 2, 4}).next());
  EXPECT_NE(Random({1}).next(), Random({1, 0}).next());
}

TEST(Random, BelowIsUniform) {
  Random random({7});
  constexpr int kDraws = 70000;
  std::array<int, 7> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts.at(random.below(counts.size()));
  double chi_squared = 0;
  for (const int count : counts) {
    chi_squared += (count - kDraws / 7.0) * (count - kDraws / 7.0) / (kDraws / 7.0);
  }
  EXPECT_LT(chi_squared, 22.46);  // 99.9 % point for 6 degrees of freedom
}

TEST(Random, BetweenIncludesBothEnds) {
  Random random({8});
  bool low = false, high = false;
  for (int i = 0; i < 100; ++i) {
    const int64_t value = random.between(-1, 1);
    ASSERT_GE(value, -1);
    ASSERT_LE(value, 1);
    low |= value == -1;
    high |= value == 1;
  }
  EXPECT_TRUE(low && high);
}

TEST(Random, ChanceMeetsItsProbability) {
  Random random({9});
  int hits = 0;
  for (int i = 0; i < 100000; ++i) hits += random.chance(0.15);
  EXPECT_NEAR(hits, 15000, 4 * 113);  // 4 standard deviations
  EXPECT_FALSE(random.chance(0.0));
  EXPECT_TRUE(random.chance(1.0));
}

}  // namespace
}  // namespace strata::data
