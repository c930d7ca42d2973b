#include "harness/seed.h"

#include <gtest/gtest.h>

#include <set>

namespace strata::harness {
namespace {

TEST(Seed, AConfiguredSeedIsKeptAndCountsUpByExperiment) {
  EXPECT_EQ(experiment_seed(42, 0), 42u);
  EXPECT_EQ(experiment_seed(42, 3), 45u);
}

// The probability of eight equal draws of 32 bits is 2^-224.
TEST(Seed, RandomSeedsDiffer) {
  std::set<uint64_t> seeds;
  for (int i = 0; i < 8; ++i) seeds.insert(experiment_seed(std::nullopt, 0));
  EXPECT_GT(seeds.size(), 1u);
  EXPECT_LT(*seeds.rbegin(), uint64_t{1} << 32);
}

}  // namespace
}  // namespace strata::harness
