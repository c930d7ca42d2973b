#include "loadbalance/plans/sparse_shuffle.h"

#include <gtest/gtest.h>

#include <map>

#include "loadbalance/random.h"

namespace strata::loadbalance {
namespace {

// Compares with a map of all numbers, for decks that are dealt to the end.
TEST(SparseShuffle, AgreesWithAMap) {
  Random random(3);
  for (const uint32_t count : {1u, 10u, 1'000u, 300'000u}) {
    for (const uint32_t moves : {1u, 3u}) {  // at most, per place taken
      SparseShuffle shuffle(count);
      std::map<uint32_t, uint32_t> expected;
      const auto at = [&](uint32_t place) {
        const auto found = expected.find(place);
        return found == expected.end() ? place : found->second;
      };
      for (uint32_t next = 0; next < count; ++next) {
        for (uint32_t i = random.below(moves + 1); i > 0; --i) {
          const uint32_t place = next + random.below(count - next), number = random.below(1000);
          shuffle.prefetch(place);
          ASSERT_EQ(shuffle.exchange(place, number), at(place));
          expected[place] = number;
        }
        ASSERT_EQ(shuffle.take(), at(next));
        expected.erase(next);
        ASSERT_EQ(shuffle.size(), expected.size());
      }
    }
  }
}

// The last places of the largest possible deck.
TEST(SparseShuffle, PositionsMayHave32Bits) {
  SparseShuffle shuffle(UINT32_MAX);
  for (uint32_t i = 0; i < 1000; ++i)
    EXPECT_EQ(shuffle.exchange(UINT32_MAX - 1 - i, i), UINT32_MAX - 1 - i);
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(shuffle.exchange(UINT32_MAX - 1 - i, 0), i);
  EXPECT_EQ(shuffle.size(), 1000u);
}

}  // namespace
}  // namespace strata::loadbalance
