#include "training/batches/synthetic_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace strata::training {
namespace {

TEST(SyntheticBatch, IsWellFormed) {
  const bert::BertConfig model = bert::load_bert_config("tiny");
  const std::vector<int32_t> lengths{1, 7, 512, 33};
  const data::PackedBatch batch = synthetic_batch(model, lengths, 1);
  EXPECT_EQ(batch.cu_seqlens, (std::vector<int32_t>{0, 1, 8, 520, 553}));
  ASSERT_EQ(batch.tokens.size(), 553u);
  ASSERT_EQ(batch.segments.size(), 553u);
  ASSERT_EQ(batch.positions.size(), 553u);
  ASSERT_EQ(batch.sample_ids.size(), 4u);
  ASSERT_EQ(batch.next_sentence.size(), 4u);
  for (const int32_t token : batch.tokens) EXPECT_TRUE(token >= 0 && token < model.vocab_size);
  for (const int32_t id : batch.masked_ids) EXPECT_TRUE(id >= 0 && id < model.vocab_size);
  for (const int32_t label : batch.next_sentence) EXPECT_TRUE(label == 0 || label == 1);
  for (size_t i = 0; i + 1 < batch.cu_seqlens.size(); ++i) {
    for (int32_t t = batch.cu_seqlens[i]; t < batch.cu_seqlens[i + 1]; ++t) {
      EXPECT_EQ(batch.positions[t], t - batch.cu_seqlens[i]);
    }
  }
}

TEST(SyntheticBatch, MasksFifteenPercentOfEverySequence) {
  const bert::BertConfig model = bert::load_bert_config("tiny");
  for (int32_t length = 1; length <= 512; ++length) {
    const data::PackedBatch batch = synthetic_batch(model, std::array{length, length}, 1);
    const auto each = static_cast<size_t>(std::clamp(length * 15 / 100, 1, 76));
    ASSERT_EQ(batch.masked_positions.size(), 2 * each);
    ASSERT_EQ(batch.masked_ids.size(), 2 * each);
    for (size_t m = 0; m < 2 * each; ++m) {
      const int32_t begin = m < each ? 0 : length;
      ASSERT_GE(batch.masked_positions[m], begin);
      ASSERT_LT(batch.masked_positions[m], begin + length);
      if (m > 0) {
        ASSERT_GT(batch.masked_positions[m], batch.masked_positions[m - 1]);
      }
    }
  }
}

TEST(SyntheticBatch, TheSeedDecides) {
  const bert::BertConfig model = bert::load_bert_config("tiny");
  const std::array lengths{40, 50};
  EXPECT_EQ(synthetic_batch(model, lengths, 1).tokens, synthetic_batch(model, lengths, 1).tokens);
  EXPECT_NE(synthetic_batch(model, lengths, 1).tokens, synthetic_batch(model, lengths, 2).tokens);
}

TEST(WikipediaLengths, FillExactlyTheTokensAskedFor) {
  for (const int64_t tokens : {1, 511, 512, 2048, 100000}) {
    const std::vector<int32_t> lengths = wikipedia_lengths(tokens, 512, 7);
    EXPECT_EQ(std::accumulate(lengths.begin(), lengths.end(), int64_t{0}), tokens);
    for (const int32_t length : lengths) EXPECT_TRUE(length >= 1 && length <= 512);
  }
}

TEST(WikipediaLengths, HaveThePublishedShares) {
  const std::vector<int32_t> lengths = wikipedia_lengths(5'000'000, 512, 7);
  std::array<double, 4> strata{};
  for (const int32_t length : lengths) ++strata[static_cast<size_t>((length - 1) / 128)];
  const double expected[] = {6, 3, 2, 5};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(strata[i] / static_cast<double>(lengths.size()), expected[i] / 16, 0.01);
  }
  // MLPerf's samples have about 253 tokens.
  EXPECT_NEAR(5e6 / static_cast<double>(lengths.size()), 253, 15);
}

TEST(WikipediaLengths, RespectAShorterModel) {
  for (const int32_t length : wikipedia_lengths(10000, 100, 7)) EXPECT_LE(length, 100);
}

}  // namespace
}  // namespace strata::training
