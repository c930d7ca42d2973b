#include "device/operations/dropout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace strata::device {
namespace {

using Words = std::array<uint32_t, 4>;

// The known answers of Random123, the authors' own implementation.
TEST(Philox, GivesThePublishedAnswers) {
  const Words pi = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
  EXPECT_EQ(philox4x32<7>({0, 0, 0, 0}, philox_round_keys<7>(0)),
            (Words{0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}));
  EXPECT_EQ(philox4x32<7>({~0u, ~0u, ~0u, ~0u}, philox_round_keys<7>(~0ull)),
            (Words{0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662}));
  EXPECT_EQ(philox4x32<7>(pi, philox_round_keys<7>(0x299f31d0a4093822)),
            (Words{0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a}));
  EXPECT_EQ(philox4x32<10>({0, 0, 0, 0}, philox_round_keys<10>(0)),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32<10>({~0u, ~0u, ~0u, ~0u}, philox_round_keys<10>(~0ull)),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32<10>(pi, philox_round_keys<10>(0x299f31d0a4093822)),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(DropoutBits, OnePhiloxBlockServesEightNeighbouringColumns) {
  const uint64_t key = 0x0123456789abcdef, sample = 0xfedcba9876543210;
  const uint32_t row = 77, first_column = 40;
  const Words words = philox4x32<kDropoutRounds>({first_column / 8, row, 0x76543210, 0xfedcba98},
                                                 dropout_round_keys(key));
  for (uint32_t lane = 0; lane < 8; ++lane) {
    const uint32_t half = lane % 2 == 0 ? words[lane / 2] & 0xffff : words[lane / 2] >> 16;
    EXPECT_EQ(dropout_bits(key, sample, row, first_column + lane), half);
  }
}

TEST(Dropout, ProbabilityIsRoundedToA65536thAndKeptElementsMakeUpForIt) {
  const Dropout dropout{0.1f, 1};
  EXPECT_EQ(dropout.threshold(), 6554u);
  EXPECT_FLOAT_EQ(dropout.keep_scale(), 65536.0f / (65536 - 6554));
}

TEST(Dropout, ProbabilityZeroKeepsEverythingAsItIs) {
  for (uint32_t column = 0; column < 1000; ++column) {
    EXPECT_EQ(dropout_factor(Dropout{0.0f, 9}, 3, 4, column), 1.0f);
  }
}

TEST(Dropout, ProbabilitiesNextToOneKeepA65536thAtLeast) {
  const Dropout dropout{std::nextafter(1.0f, 0.0f), 9};
  EXPECT_EQ(dropout.threshold(), 65535u);
  EXPECT_EQ(dropout.keep_scale(), 65536.0f);
}

TEST(DropoutBits, ReachEveryThresholdUpToTheirValue) {
  const DropoutBits bits(dropout_round_keys(5), 6, 7, 8);
  for (uint32_t column = 0; column < 8; ++column) {
    const uint32_t exactly = bits.of(column);
    EXPECT_TRUE(bits.reach(column, 0));
    EXPECT_TRUE(bits.reach(column, exactly));
    EXPECT_FALSE(bits.reach(column, exactly + 1));
    EXPECT_FALSE(bits.reach(column, 65535));
  }
}

// Counts drops over samples x rows x columns, and drops shared with a neighbour in each direction.
// Allows five standard deviations of the binomial distribution of independent drops.
TEST(Dropout, ShareDroppedIsTheProbabilityAndNeighboursAreIndependent) {
  constexpr uint32_t kSamples = 10, kRows = 100, kColumns = 1000;
  constexpr double kElements = 1.0 * kSamples * kRows * kColumns;
  const Dropout dropout{0.1f, dropout_step_key(1, 2), dropout_place(3, DropoutSite::kOutput)};
  const Dropout next_step{0.1f, dropout_step_key(1, 3), dropout_place(3, DropoutSite::kOutput)};
  const auto dropped = [](const Dropout& which, uint64_t sample, uint32_t row, uint32_t column) {
    return dropout_factor(which, sample, row, column) == 0.0f;
  };
  double total = 0, column_pairs = 0, row_pairs = 0, sample_pairs = 0, step_pairs = 0;
  for (uint32_t sample = 0; sample < kSamples; ++sample) {
    for (uint32_t row = 0; row < kRows; ++row) {
      for (uint32_t column = 0; column < kColumns; ++column) {
        if (!dropped(dropout, sample, row, column)) continue;
        total += 1;
        column_pairs += dropped(dropout, sample, row, column + 1);
        row_pairs += dropped(dropout, sample, row + 1, column);
        sample_pairs += dropped(dropout, sample + 1, row, column);
        step_pairs += dropped(next_step, sample, row, column);
      }
    }
  }
  const double p = 6554.0 / 65536;
  const auto expect_share = [](double count, double share) {
    EXPECT_NEAR(count / kElements, share, 5 * std::sqrt(share * (1 - share) / kElements));
  };
  expect_share(total, p);
  expect_share(column_pairs, p * p);
  expect_share(row_pairs, p * p);
  expect_share(sample_pairs, p * p);
  expect_share(step_pairs, p * p);
}

TEST(DropoutKey, EverySeedStepLayerAndSiteHasItsOwn) {
  std::set<uint64_t> keys;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    for (uint64_t step = 0; step < 50; ++step) {
      for (uint32_t layer = 0; layer < 24; ++layer) {
        for (const DropoutSite site : {DropoutSite::kEmbeddings, DropoutSite::kAttention,
                                       DropoutSite::kAttentionOutput, DropoutSite::kOutput}) {
          const Dropout dropout{0.1f, dropout_step_key(seed, step), dropout_place(layer, site)};
          keys.insert(dropout.key());
        }
      }
    }
  }
  EXPECT_EQ(keys.size(), 3u * 50 * 24 * 4);
}

TEST(DropoutKey, UsesTheStepInMemoryWhenTheOperationRuns) {
  uint64_t memory = dropout_step_key(1, 2);
  const uint64_t place = dropout_place(3, DropoutSite::kOutput);
  const Dropout dropout{0.1f, value_at(&memory), place};
  EXPECT_EQ(dropout.key(), Dropout({0.1f, dropout_step_key(1, 2), place}).key());
  memory = dropout_step_key(1, 3);
  EXPECT_EQ(dropout.key(), Dropout({0.1f, dropout_step_key(1, 3), place}).key());
}

}  // namespace
}  // namespace strata::device
