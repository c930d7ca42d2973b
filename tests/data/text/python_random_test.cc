#include "data/text/python_random.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "data/text/random.h"

namespace strata::data {
namespace {

// A line of tests/golden/data/python_random.py.
struct Golden {
  uint64_t seed;
  std::vector<uint32_t> words;
  double uniform;
  int64_t between;
  std::vector<uint64_t> below;
  std::vector<int> shuffled;
  bool chance;
};

const std::vector<Golden> kGoldenDraws = {
    {0,
     {3626764237, 1654615998, 3255389356},
     0x1.1d656c7992a78p-2,
     422,
     {0, 0, 0, 1, 18995},
     {3, 6, 2, 0, 1, 7, 5, 4},
     true},
    {12345,
     {1789368711, 3146859322, 43676229},
     0x1.e11af10d70c71p-1,
     213,
     {0, 1, 1, 1, 23622},
     {3, 6, 5, 4, 0, 1, 7, 2},
     true},
    {1099511627783,  // two words
     {2635837658, 3209733218, 3500038837},
     0x1.81fbbbae3c468p-1,
     82,
     {0, 1, 2, 2, 1109},
     {2, 3, 6, 0, 5, 7, 1, 4},
     false},
};

TEST(PythonRandom, GivesPythonsNumbers) {
  for (const Golden& golden : kGoldenDraws) {
    PythonRandom random(golden.seed);
    for (const uint32_t word : golden.words) EXPECT_EQ(random.next(), word);
    for (int i = 0; i < 2000; ++i) random.next();
    std::vector<int> items(8);
    std::iota(items.begin(), items.end(), 0);
    shuffle(items, random);
    EXPECT_EQ(items, golden.shuffled);
    EXPECT_EQ(random.uniform(), golden.uniform);
    EXPECT_EQ(random.between(-3, 500), golden.between);
    const uint64_t bounds[] = {1, 2, 3, 4, 30522};
    for (size_t i = 0; i < golden.below.size(); ++i) {
      EXPECT_EQ(random.below(bounds[i]), golden.below[i]) << bounds[i];
    }
    EXPECT_EQ(random.chance(0.5), golden.chance);
  }
}

// Covers all sizes, so that it starts and ends anywhere in the generator's 624 words.
TEST(PythonRandom, ShuffleDrawsOneNumberAfterTheOther) {
  PythonRandom random(12345), drawn(12345);
  for (size_t size = 0; size < 600; ++size) {
    std::vector<uint16_t> items(size), expected(size);
    std::iota(items.begin(), items.end(), uint16_t{0});
    std::iota(expected.begin(), expected.end(), uint16_t{0});
    shuffle(items, random);
    for (size_t i = size; i > 1; --i) std::swap(expected[i - 1], expected[drawn.below(i)]);
    ASSERT_EQ(items, expected);
    ASSERT_EQ(random.next(), drawn.next()) << size;
  }
}

}  // namespace
}  // namespace strata::data
