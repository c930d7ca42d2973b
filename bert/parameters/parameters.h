// The parameters of a BERT model, laid out in one flat arena in the order in which backward
// finishes their gradients: heads, layers from last to first, embeddings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/range.h"
#include "bert/config.h"
#include "bert/stage.h"

namespace strata::bert {

// The whole arena on the host, f32.
using HostWeights = std::vector<float>;

// A parameter's place: rows x cols elements from `offset`. Matrices are [out, in].
struct Parameter {
  std::string name;          // MLPerf's: bert/encoder/layer_0/attention/self/query/kernel
  std::string hugging_face;  // bert.encoder.layer.0.attention.self.query.weight
  int64_t offset = 0;        // in elements, a multiple of 32
  int64_t rows = 0;
  int64_t cols = 0;
  bool decay = false;  // weight decay applies: not to biases and LayerNorm

  int64_t size() const { return rows * cols; }
};

struct LinearPlace {
  Parameter weight, bias;
};
// Of a model without LayerNorm: of the gain and bias that are left.
struct LayerNormPlace {
  Parameter gamma, beta;
};
struct LayerPlace {
  LinearPlace query_key_value;  // the three stacked: [3H, H]; listed one by one in `all`
  LinearPlace attention_output;
  LayerNormPlace attention_norm;  // of pre-LN: before the attention
  LinearPlace intermediate;
  LinearPlace output;
  LayerNormPlace output_norm;  // of pre-LN: before the intermediate linear layer

  // Up to here, from the layer's begin, are the matrices of its feed-forward part, whose gradients
  // backward completes first.
  int64_t halfway() const { return attention_output.weight.offset; }
};

// A parameter's elements of the arena, the gap after them included.
struct ParameterSegment {
  int64_t offset = 0;
  int64_t size = 0;
  bool decay = false;
};

struct ParameterLayout {
  // Of the blocks that a stage has; the places of others are empty. Throws Error where the layers
  // are not dealt to its pipeline's stages evenly.
  explicit ParameterLayout(const BertConfig& config, const Stage& stage = {});

  Norm norm = Norm::kPost;
  std::vector<Parameter> all;  // by offset
  int64_t size = 0;  // elements of the arena; gaps between parameters stay zero, gradients' too

  LinearPlace transform, pooler;  // masked-LM transform, next-sentence pooler
  LayerNormPlace transform_norm;
  LayerNormPlace final_norm;  // of pre-LN alone
  Parameter masked_lm_bias;
  LinearPlace next_sentence;
  std::vector<LayerPlace> layers;
  Parameter word_embeddings, position_embeddings, segment_embeddings;
  LayerNormPlace embeddings_norm;

  // Backward completes gradients [boundaries[i], boundaries[i+1]) in rising order of i; the last
  // one is `size`.
  std::vector<int64_t> boundaries;
  std::vector<std::string> groups;  // what each is: "heads", "layer_23", ..., "embeddings"

  // The same with each layer cut where its backward is halfway.
  std::vector<int64_t> boundaries_with_halves() const;

  // The arena elements of one of the groups.
  Range group(const std::string& name) const;

  // The arena elements of the word embeddings, the first of their group.
  Range words() const;
  // Those whose gradients are complete after the last backward of group `group`, in that order.
  // `early_words`: the words' are with the heads, which write the part of them that is in the
  // arena.
  std::vector<Range> completes(size_t group, bool early_words) const;

  // One segment a parameter, in order; together they are the whole arena.
  std::vector<ParameterSegment> segments() const;
};

// Where elements `range` of a stage's arena are in the whole model's.
std::vector<Range> places_in_whole(const ParameterLayout& stage, const Range& range,
                                   const ParameterLayout& whole);

// Copies the groups that both layouts of a model have: from the whole model to a stage, or back.
void copy_groups(const ParameterLayout& from, const HostWeights& weights, const ParameterLayout& to,
                 HostWeights& copied);

}  // namespace strata::bert
