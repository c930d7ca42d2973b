#include "bert/parameters/parameters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace strata::bert {
namespace {

BertConfig small() {
  BertConfig config;
  config.vocab_size = 101;
  config.hidden_size = 64;
  config.layers = 3;
  config.heads = 2;
  config.intermediate_size = 96;
  config.max_positions = 33;
  return config;
}

TEST(Parameters, BertLargeHasThePublishedNumber) {
  const ParameterLayout layout(load_bert_config("bert-large"));
  int64_t parameters = 0;
  for (const Parameter& p : layout.all) parameters += p.size();
  // BertForPreTraining has 336,226,108 parameters, counting the tied decoder once.
  EXPECT_EQ(parameters, 336226108);
}

TEST(Parameters, FollowEachOtherWithoutOverlap) {
  const ParameterLayout layout(small());
  int64_t end = 0;
  for (const Parameter& p : layout.all) {
    EXPECT_GE(p.offset, end) << p.name;
    EXPECT_LT(p.offset - end, 32) << p.name;
    EXPECT_EQ(p.offset % 32, 0) << p.name;
    end = p.offset + p.size();
  }
  EXPECT_GE(layout.size, end);
  EXPECT_LT(layout.size - end, 32);
}

TEST(Parameters, HaveUniqueMlperfAndHuggingFaceNames) {
  const ParameterLayout layout(small());
  std::set<std::string> names, hugging_face;
  for (const Parameter& p : layout.all) {
    EXPECT_TRUE(names.insert(p.name).second) << p.name;
    EXPECT_TRUE(hugging_face.insert(p.hugging_face).second) << p.hugging_face;
  }
  // 5 of the embeddings, 16 of a layer, 2 of the pooler, 7 of the heads.
  EXPECT_EQ(names.size(), 5u + 3 * 16 + 2 + 7);
  for (const char* name : {"bert/embeddings/word_embeddings", "bert/embeddings/LayerNorm/gamma",
                           "bert/encoder/layer_2/attention/self/query/kernel",
                           "bert/encoder/layer_0/output/LayerNorm/beta", "bert/pooler/dense/bias",
                           "cls/predictions/output_bias", "cls/predictions/transform/dense/kernel",
                           "cls/seq_relationship/output_weights"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  EXPECT_TRUE(hugging_face.contains("bert.encoder.layer.2.attention.self.query.weight"));
  EXPECT_TRUE(hugging_face.contains("cls.predictions.bias"));
}

TEST(Parameters, AreOrderedAsBackwardFinishesThem) {
  const ParameterLayout layout(small());
  EXPECT_LT(layout.transform.weight.offset, layout.layers[2].output.weight.offset);
  EXPECT_LT(layout.layers[2].output.weight.offset, layout.layers[1].output.weight.offset);
  EXPECT_LT(layout.layers[1].output.weight.offset, layout.layers[0].output.weight.offset);
  EXPECT_LT(layout.layers[0].output.weight.offset, layout.word_embeddings.offset);

  // Heads, three layers, embeddings.
  ASSERT_EQ(layout.boundaries.size(), 6u);
  EXPECT_EQ(layout.boundaries.front(), 0);
  EXPECT_EQ(layout.boundaries.back(), layout.size);
  EXPECT_TRUE(std::is_sorted(layout.boundaries.begin(), layout.boundaries.end()));
  EXPECT_EQ(layout.boundaries[1], layout.layers[2].output.weight.offset);
  EXPECT_EQ(layout.boundaries[4], layout.word_embeddings.offset);
  EXPECT_EQ(layout.groups,
            (std::vector<std::string>{"heads", "layer_2", "layer_1", "layer_0", "embeddings"}));
}

TEST(Parameters, QueryKeyAndValueAreOneMatrix) {
  const ParameterLayout layout(small());
  const auto find = [&](const std::string& name) {
    return *std::find_if(layout.all.begin(), layout.all.end(),
                         [&](const Parameter& p) { return p.name == name; });
  };
  const Parameter query = find("bert/encoder/layer_1/attention/self/query/kernel");
  const Parameter key = find("bert/encoder/layer_1/attention/self/key/kernel");
  const Parameter value = find("bert/encoder/layer_1/attention/self/value/kernel");
  const Parameter& whole = layout.layers[1].query_key_value.weight;
  EXPECT_EQ(whole.offset, query.offset);
  EXPECT_EQ(whole.rows, 3 * query.rows);
  EXPECT_EQ(key.offset, query.offset + query.size());
  EXPECT_EQ(value.offset, key.offset + key.size());
  EXPECT_EQ(layout.layers[1].query_key_value.bias.cols, 3 * 64);
}

TEST(Parameters, EveryParameterIsASegmentAndBiasesAndLayerNormsDoNotDecay) {
  const ParameterLayout layout(small());
  std::vector<int> decay(static_cast<size_t>(layout.size), -1);
  int64_t end = 0;
  for (const ParameterSegment& segment : layout.segments()) {
    EXPECT_EQ(segment.offset, end);
    end += segment.size;
    std::fill_n(decay.begin() + segment.offset, segment.size, segment.decay);
  }
  EXPECT_EQ(end, layout.size);
  for (const Parameter& p : layout.all) {
    const bool spared = p.name.ends_with("bias") || p.name.find("LayerNorm") != std::string::npos;
    for (int64_t i = 0; i < p.size(); ++i) ASSERT_EQ(decay[p.offset + i], !spared) << p.name;
  }
  EXPECT_EQ(layout.segments().size(), layout.all.size());
}

}  // namespace
}  // namespace strata::bert
