#include "loadbalance/proportional_counts.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "loadbalance/random.h"

namespace strata::loadbalance {
namespace {

// Draws `calls` splits. Checks in exact integer arithmetic the total of every split, the floor or
// ceil of every share, and an error below one after every call.
void check_proportions(const std::vector<uint32_t>& weights, int total, int calls) {
  const int64_t sum = std::accumulate(weights.begin(), weights.end(), int64_t{0});
  ProportionalCounts counts(weights, total);
  std::vector<int64_t> given(weights.size());
  for (int call = 1; call <= calls; ++call) {
    const std::span<const int> split = counts.next();
    ASSERT_EQ(std::accumulate(split.begin(), split.end(), 0), total);
    for (size_t k = 0; k < weights.size(); ++k) {
      const int64_t share = int64_t{weights[k]} * total;
      ASSERT_GE(split[k], share / sum);
      ASSERT_LE(split[k], (share + sum - 1) / sum);
      given[k] += split[k];
      const int64_t error = given[k] * sum - call * share;
      ASSERT_LT(std::abs(error), sum) << "kind " << k << " of " << testing::PrintToString(weights)
                                      << ", total " << total << ", call " << call;
    }
  }
}

TEST(ProportionalCounts, WholeSharesNeverVary) {
  const std::vector<uint32_t> weights = {600, 300, 200, 500};
  ProportionalCounts counts(weights, 16);
  for (int call = 0; call < 100; ++call) {
    const std::span<const int> split = counts.next();
    EXPECT_EQ(std::vector<int>(split.begin(), split.end()), (std::vector<int>{6, 3, 2, 5}));
  }
}

TEST(ProportionalCounts, ErrorsStayBelowOneForAnyWeights) {
  Random random(3);
  for (int trial = 0; trial < 4000; ++trial) {
    std::vector<uint32_t> weights(1 + random.below(9));
    const uint32_t largest = 1 + random.below(trial % 2 ? 12 : 1000);
    for (uint32_t& weight : weights) weight = random.below(largest + 1);
    weights.back() += 1;
    check_proportions(weights, 1 + static_cast<int>(random.below(20)), 200);
    if (HasFatalFailure()) return;
  }
}

// Every combination of small weights through a whole period. Scheduling only by deadline, or by
// largest error, would exceed the bound here.
TEST(ProportionalCounts, ErrorsStayBelowOneForAllSmallWeights) {
  for (uint32_t code = 1; code < 6 * 6 * 6 * 6 * 6; ++code) {
    std::vector<uint32_t> weights;
    for (uint32_t rest = code; rest > 0; rest /= 6) weights.push_back(rest % 6);
    for (int total = 1; total <= 5; ++total) check_proportions(weights, total, 25);
    if (HasFatalFailure()) return;
  }
}

TEST(ProportionalCounts, LargeWeightsDoNotOverflow) {
  check_proportions({2'000'000'011, 1'999'999'973, 7, 290'000'000}, 65536, 1000);
}

}  // namespace
}  // namespace strata::loadbalance
