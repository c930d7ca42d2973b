#include "loadbalance/sample_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "tests/loadbalance/plan_checks.h"

namespace strata::loadbalance {
namespace {

TEST(SampleSort, SortsLongestFirstAndKeepsEqualsInOrder) {
  const auto lengths = compact_lengths(random_lengths(3000, 1));
  SampleSort sort(lengths);
  std::vector<uint32_t> samples = {2999, 0, 17, 17};
  for (uint32_t i = 0; i < 1000; ++i) samples.push_back(i * 7 % 3000);
  const auto sorted = sort.longest_first(samples);
  std::stable_sort(samples.begin(), samples.end(),
                   [&](uint32_t a, uint32_t b) { return lengths[a] > lengths[b]; });
  EXPECT_TRUE(std::equal(sorted.begin(), sorted.end(), samples.begin(), samples.end()));
}

TEST(SampleSort, DealsInSerpentines) {
  const std::vector<uint32_t> sorted = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<uint32_t> batches(9);
  deal_serpentine(sorted, 3, batches);
  EXPECT_EQ(batches, (std::vector<uint32_t>{0, 5, 6, 1, 4, 7, 2, 3, 8}));
}

TEST(SampleSort, ALengthThatCannotBePlannedIsNamed) {
  try {
    compact_lengths(std::vector<int32_t>{1, 65536});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("sample 1 has 65536 tokens"), std::string::npos);
  }
  EXPECT_THROW(compact_lengths(std::vector<int32_t>{0}), Error);
}

}  // namespace
}  // namespace strata::loadbalance
