// The parameters of a BERT model in one flat arena, in the order in which backward completes their
// gradients: heads, layers from last to first, embeddings.
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

// Position of a parameter: rows x cols elements from `offset`. Matrices are [out, in].
struct Parameter {
  std::string name;          // MLPerf's name: bert/encoder/layer_0/attention/self/query/kernel
  std::string hugging_face;  // bert.encoder.layer.0.attention.self.query.weight
  int64_t offset = 0;        // in elements, a multiple of 32
  int64_t rows = 0;
  int64_t cols = 0;
  bool decay = false;  // true if weight decay applies; false for biases and LayerNorm

  int64_t size() const { return rows * cols; }
};

struct LinearPlace {
  Parameter weight, bias;
};
// In a model without LayerNorm: the remaining gain and bias.
struct LayerNormPlace {
  Parameter gamma, beta;
};
struct LayerPlace {
  LinearPlace query_key_value;  // stacked [3H, H]; `all` lists the three one by one
  LinearPlace attention_output;
  LayerNormPlace attention_norm;  // with pre-LN: before the attention
  LinearPlace intermediate;
  LinearPlace output;
  LayerNormPlace output_norm;  // with pre-LN: before the intermediate linear layer

  // End of the feed-forward part's matrices. They come first in the layer, and backward completes
  // their gradients first.
  int64_t halfway() const { return attention_output.weight.offset; }
};

// A parameter's arena elements, with the gap after them.
struct ParameterSegment {
  int64_t offset = 0;
  int64_t size = 0;
  bool decay = false;
};

struct ParameterLayout {
  // Lays out the blocks that a stage has; positions of other blocks stay empty. Throws Error if the
  // layers cannot be divided among the pipeline's stages.
  explicit ParameterLayout(const BertConfig& config, const Stage& stage = {});

  Norm norm = Norm::kPost;
  std::vector<Parameter> all;  // ordered by offset
  int64_t size = 0;  // arena elements; gaps between parameters stay zero, also in gradients

  LinearPlace transform, pooler;  // masked-LM transform, next-sentence pooler
  LayerNormPlace transform_norm;
  LayerNormPlace final_norm;  // only with pre-LN
  Parameter masked_lm_bias;
  LinearPlace next_sentence;
  std::vector<LayerPlace> layers;
  Parameter word_embeddings, position_embeddings, token_type_embeddings;
  LayerNormPlace embeddings_norm;

  // Backward completes gradients [boundaries[i], boundaries[i+1]) in ascending order of i. The last
  // boundary is `size`.
  std::vector<int64_t> boundaries;
  std::vector<std::string> groups;  // group names: "heads", "layer_23", ..., "embeddings"

  // Boundaries with each layer split halfway through its backward.
  std::vector<int64_t> boundaries_with_halves() const;

  // Returns the arena elements of a group.
  Range group(const std::string& name) const;

  // Returns the arena elements of the word embeddings, the first of their group.
  Range words() const;
  // Returns the arena elements whose gradients are complete after the last backward of group
  // `group`, in the order of completion. With `split_tied_embedding`, the word embeddings' gradient
  // in the arena is complete with the heads', because the heads alone write it.
  std::vector<Range> completes(size_t group, bool split_tied_embedding) const;

  // Returns one segment per parameter, in order. Together they cover the arena.
  std::vector<ParameterSegment> segments() const;
};

// Maps elements `range` of a stage's arena to the whole model's arena.
std::vector<Range> places_in_whole(const ParameterLayout& stage, const Range& range,
                                   const ParameterLayout& whole);

// Copies the groups that two layouts of a model have in common.
void copy_groups(const ParameterLayout& from, const HostWeights& weights, const ParameterLayout& to,
                 HostWeights& copied);

}  // namespace strata::bert
