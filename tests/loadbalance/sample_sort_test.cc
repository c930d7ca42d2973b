#include "loadbalance/sample_sort.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/loadbalance/plan_checks.h"

namespace strata::loadbalance {
namespace {

TEST(SampleSort, SortsLongestFirstAndKeepsEqualsInOrder) {
  const auto lengths = random_lengths(3000, 1);
  const std::vector<Sample> all = samples_of(lengths);
  SampleSort sort(512);
  std::vector<Sample> samples = {all[2999], all[0], all[17], all[17]};
  for (size_t i = 0; i < 1000; ++i) samples.push_back(all[i * 7 % 3000]);
  const auto sorted = sort.longest_first(samples);
  std::stable_sort(samples.begin(), samples.end(),
                   [](const Sample& a, const Sample& b) { return a.length > b.length; });
  EXPECT_TRUE(std::equal(sorted.begin(), sorted.end(), samples.begin(), samples.end()));
}

TEST(SampleSort, DealsInSerpentines) {
  const std::vector<Sample> sorted = samples_of(Lengths(9, 7));
  std::vector<uint32_t> batches(9);
  deal_serpentine(sorted, 3, batches);
  EXPECT_EQ(batches, (std::vector<uint32_t>{0, 5, 6, 1, 4, 7, 2, 3, 8}));
}

}  // namespace
}  // namespace strata::loadbalance
