#include "comm/rank_order_sum.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "device/reference/sums/rounded_sum.h"

namespace strata::comm {
namespace {

using device::BFloat16;
using device::DType;

// 1e8 absorbs 1, so the order of addition matters.
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

// 2048 + 1 is not a binary16. Neither is 65504 + 16, halfway to the number after the largest.
TEST(RankOrderSum, RoundsF16Once) {
  const std::vector<device::Float16> parts = {2048.0f, 65504.0f, 1.0f, 8.0f, 1.0f, 8.0f};
  std::vector<device::Float16> sum(2);
  sum_in_rank_order(parts.data(), 3, 2, DType::kF16, sum.data());
  EXPECT_EQ(float{sum[0]}, 2050.0f);
  EXPECT_EQ(float{sum[1]}, std::numeric_limits<float>::infinity());
}

// The emulator is the oracle; it has no blocks and levels.
TEST(RankOrderSum, HasTheBitsOfTheEmulatedSumInBF16) {
  constexpr int kCount = 300;  // more than a block
  std::mt19937 engine(3);
  std::normal_distribution<float> normal;
  for (const int ranks : {1, 2, 3, 7, 8, 9, 64, 100, 1024}) {
    std::vector<BFloat16> parts(static_cast<size_t>(ranks) * kCount);
    for (BFloat16& part : parts) part = normal(engine);
    for (const int chunk : {0, 2, 3, 4, 8, 32, 99, 1000, 5000}) {
      std::vector<BFloat16> sum(kCount);
      sum_in_rank_order(parts.data(), ranks, kCount, DType::kBF16, sum.data(), {true, chunk});
      for (int i = 0; i < kCount; ++i) {
        std::vector<double> terms;
        for (int rank = 0; rank < ranks; ++rank) terms.push_back(float{parts[rank * kCount + i]});
        const double expected = device::reference::rounded_sum(
            terms, {.format = {.exponent_bits = 8, .mantissa_bits = 7}, .chunk = chunk});
        ASSERT_EQ(double{float{sum[i]}}, expected) << ranks << " ranks in chunks of " << chunk;
      }
    }
  }
}

TEST(RankOrderSum, OneChunkHasTheBitsOfARow) {
  std::mt19937 engine(4);
  std::normal_distribution<float> normal;
  std::vector<BFloat16> parts(37 * 5);
  for (BFloat16& part : parts) part = normal(engine);
  std::vector<BFloat16> row(5), chunk(5), pairs(5);
  sum_in_rank_order(parts.data(), 37, 5, DType::kBF16, row.data(), {true, 0});
  sum_in_rank_order(parts.data(), 37, 5, DType::kBF16, chunk.data(), {true, 37});
  sum_in_rank_order(parts.data(), 37, 5, DType::kBF16, pairs.data(), {true, 2});
  const auto bits = [](const std::vector<BFloat16>& values) {
    std::vector<uint16_t> all;
    for (const BFloat16 value : values) all.push_back(value.bits);
    return all;
  };
  EXPECT_EQ(bits(row), bits(chunk));
  EXPECT_NE(bits(row), bits(pairs));
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
