#include "comm/rank_order_sum.h"

#include <gtest/gtest.h>

#include <vector>

namespace strata::comm {
namespace {

using device::BFloat16;
using device::DType;

// 1e8 absorbs 1: the order of addition shows.
TEST(RankOrderSum, AddsInRankOrder) {
  const std::vector<float> parts = {1.0f, 1e8f, 1e8f, 1.0f, -1e8f, -1e8f};
  std::vector<float> sum(2);
  sum_in_rank_order(parts.data(), 3, 2, DType::kF32, sum.data());
  EXPECT_EQ(sum, (std::vector<float>{0.0f, 0.0f}));
  const std::vector<double> wide(parts.begin(), parts.end());
  std::vector<double> wide_sum(2);
  sum_in_rank_order(wide.data(), 3, 2, DType::kF64, wide_sum.data());
  EXPECT_EQ(wide_sum, (std::vector<double>{1.0, 1.0}));
}

// 256 + 1 is not a bf16; rounding at every addition would give 256.
TEST(RankOrderSum, RoundsBF16Once) {
  const std::vector<BFloat16> parts = {256.0f, 1.0f, 1.0f};
  BFloat16 sum;
  sum_in_rank_order(parts.data(), 3, 1, DType::kBF16, &sum);
  EXPECT_EQ(float{sum}, 258.0f);
}

TEST(RankOrderSum, CoversEveryElementOfLongParts) {
  constexpr int kCount = 5000;
  std::vector<float> parts(2 * kCount), sum(kCount);
  for (int i = 0; i < kCount; ++i) {
    parts[i] = static_cast<float>(i);
    parts[kCount + i] = 0.5f;
  }
  sum_in_rank_order(parts.data(), 2, kCount, DType::kF32, sum.data());
  for (int i = 0; i < kCount; ++i) ASSERT_EQ(sum[i], static_cast<float>(i) + 0.5f);
}

}  // namespace
}  // namespace strata::comm
