#include "bert/flops.h"

#include <gtest/gtest.h>

namespace strata::bert {
namespace {

// The published number is "a mean Wikipedia sample (253 tokens, 38 masked) is about 0.5 TFLOP", for
// BERT-large with 302 million encoder weights.
TEST(Flops, IsThePublishedFormula) {
  const BertConfig config = load_bert_config("bert-large");
  const int32_t lengths[] = {253};
  const double encoder = 6.0 * 24 * 12 * 1024 * 1024 * 253;
  const double attention = 12.0 * 24 * 1024 * 253 * 253;
  const double heads = 6.0 * 38 * (1024.0 * 1024 + 1024.0 * 30522);
  EXPECT_DOUBLE_EQ(training_flops(config, lengths, 38), encoder + attention + heads);
  EXPECT_NEAR(training_flops(config, lengths, 38), 0.5e12, 0.03e12);
}

TEST(Flops, AddsUpOverSequencesButAttentionIsQuadratic) {
  const BertConfig config = load_bert_config("tiny");
  const int32_t one[] = {100}, two[] = {100, 100}, twice[] = {200};
  EXPECT_DOUBLE_EQ(training_flops(config, two, 0), 2 * training_flops(config, one, 0));
  EXPECT_DOUBLE_EQ(training_flops(config, twice, 0) - training_flops(config, two, 0),
                   12.0 * 2 * 64 * (200 * 200 - 2 * 100 * 100));
}

TEST(Flops, UsesTheConfiguredIntermediateSize) {
  BertConfig config = load_bert_config("tiny");
  const int32_t one[] = {1};
  const double before = training_flops(config, one, 0);
  config.intermediate_size += 32;
  EXPECT_DOUBLE_EQ(training_flops(config, one, 0) - before, 6.0 * 2 * 2 * 64 * 32);
}

TEST(Flops, LayersThatAreLeftOutComputeNothing) {
  const BertConfig config = load_bert_config("bert-large");
  const int32_t lengths[] = {253, 17};
  const double heads = training_flops(config, lengths, 38, 0);
  EXPECT_DOUBLE_EQ(heads, 6.0 * 38 * (1024.0 * 1024 + 1024.0 * 30522));
  EXPECT_DOUBLE_EQ(training_flops(config, lengths, 38, 12) - heads,
                   (training_flops(config, lengths, 38) - heads) / 2);
}

}  // namespace
}  // namespace strata::bert
