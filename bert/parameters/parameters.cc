#include "bert/parameters/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text/counts.h"

namespace strata::bert {
namespace {

constexpr int64_t kAlignment = 32;  // in elements: 64 bytes in bf16

// Appends parameters to a layout. Matrices come first in each group, so that a group has one run of
// decayed and one of undecayed elements.
class Builder {
 public:
  Builder(ParameterLayout& layout, Norm norm) : layout_(layout), normalizes_(norm != Norm::kNone) {}

  Parameter matrix(const std::string& name, const std::string& hugging_face, int64_t rows,
                   int64_t cols) {
    return append({name, hugging_face, 0, rows, cols, true});
  }
  Parameter vector(const std::string& name, const std::string& hugging_face, int64_t size) {
    return append({name, hugging_face, 0, 1, size, false});
  }
  // Models without LayerNorm use the name Affine, as ResMLP (Touvron et al. 2021) does, because a
  // LayerNorm's weights have another meaning.
  LayerNormPlace norm(std::string name, std::string hugging_face, int64_t size) {
    for (std::string* text : {&name, &hugging_face}) {
      const size_t at = text->rfind("LayerNorm");
      if (!normalizes_ && at != std::string::npos) text->replace(at, 9, "Affine");
    }
    const Parameter gamma = vector(name + "/gamma", hugging_face + ".weight", size);
    return {gamma, vector(name + "/beta", hugging_face + ".bias", size)};
  }
  void finish_group(std::string name) {
    layout_.boundaries.push_back(layout_.size);
    layout_.groups.push_back(std::move(name));
  }

 private:
  Parameter append(Parameter parameter) {
    parameter.offset = layout_.size;
    layout_.size += (parameter.size() + kAlignment - 1) / kAlignment * kAlignment;
    layout_.all.push_back(parameter);
    return parameter;
  }
  ParameterLayout& layout_;
  bool normalizes_;
};

// Joins three consecutive parameters of the same shape without gaps.
Parameter stacked(const Parameter& first, const char* name) {
  Parameter whole{name, "", first.offset, first.rows, first.cols, first.decay};
  (first.rows == 1 ? whole.cols : whole.rows) *= 3;
  return whole;
}

void add_heads(const BertConfig& c, Builder& add, ParameterLayout& layout) {
  const int64_t h = c.hidden_size;
  layout.transform.weight = add.matrix("cls/predictions/transform/dense/kernel",
                                       "cls.predictions.transform.dense.weight", h, h);
  layout.next_sentence.weight =
      add.matrix("cls/seq_relationship/output_weights", "cls.seq_relationship.weight", 2, h);
  layout.pooler.weight = add.matrix("bert/pooler/dense/kernel", "bert.pooler.dense.weight", h, h);
  layout.masked_lm_bias =
      add.vector("cls/predictions/output_bias", "cls.predictions.bias", c.vocab_size);
  layout.transform_norm =
      add.norm("cls/predictions/transform/LayerNorm", "cls.predictions.transform.LayerNorm", h);
  if (c.norm == Norm::kPre) {
    layout.final_norm = add.norm("bert/encoder/FinalLayerNorm", "bert.encoder.FinalLayerNorm", h);
  }
  layout.transform.bias =
      add.vector("cls/predictions/transform/dense/bias", "cls.predictions.transform.dense.bias", h);
  layout.next_sentence.bias =
      add.vector("cls/seq_relationship/output_bias", "cls.seq_relationship.bias", 2);
  layout.pooler.bias = add.vector("bert/pooler/dense/bias", "bert.pooler.dense.bias", h);
  add.finish_group("heads");
}

LayerPlace add_layer(const BertConfig& c, int64_t index, Builder& add) {
  const int64_t h = c.hidden_size, i = c.intermediate_size;
  const std::string name = fmt::format("bert/encoder/layer_{}/", index);
  const std::string hf = fmt::format("bert.encoder.layer.{}.", index);
  const auto kernel = [&](const std::string& part, const std::string& hf_part, int64_t out,
                          int64_t in) {
    return add.matrix(name + part + "/kernel", hf + hf_part + ".weight", out, in);
  };
  const auto bias = [&](const std::string& part, const std::string& hf_part, int64_t size) {
    return add.vector(name + part + "/bias", hf + hf_part + ".bias", size);
  };
  // Names for pre-LN follow DeepSpeed's BERT.
  const bool pre = c.norm == Norm::kPre;
  const auto norm = [&](const char* post_name, const char* hf_post_name, const char* pre_name) {
    return pre ? add.norm(name + pre_name, hf + pre_name, h)
               : add.norm(name + post_name, hf + hf_post_name, h);
  };
  LayerPlace layer;
  layer.output.weight = kernel("output/dense", "output.dense", h, i);
  layer.intermediate.weight = kernel("intermediate/dense", "intermediate.dense", i, h);
  layer.attention_output.weight = kernel("attention/output/dense", "attention.output.dense", h, h);
  const Parameter query = kernel("attention/self/query", "attention.self.query", h, h);
  kernel("attention/self/key", "attention.self.key", h, h);
  kernel("attention/self/value", "attention.self.value", h, h);
  layer.query_key_value.weight = stacked(query, "query, key, value kernels");
  layer.output_norm = norm("output/LayerNorm", "output.LayerNorm", "PostAttentionLayerNorm");
  layer.output.bias = bias("output/dense", "output.dense", h);
  layer.intermediate.bias = bias("intermediate/dense", "intermediate.dense", i);
  layer.attention_norm =
      norm("attention/output/LayerNorm", "attention.output.LayerNorm", "PreAttentionLayerNorm");
  layer.attention_output.bias = bias("attention/output/dense", "attention.output.dense", h);
  const Parameter query_bias = bias("attention/self/query", "attention.self.query", h);
  bias("attention/self/key", "attention.self.key", h);
  bias("attention/self/value", "attention.self.value", h);
  layer.query_key_value.bias = stacked(query_bias, "query, key, value biases");
  add.finish_group(fmt::format("layer_{}", index));
  return layer;
}

void add_embeddings(const BertConfig& c, Builder& add, ParameterLayout& layout) {
  const int64_t h = c.hidden_size;
  const std::string name = "bert/embeddings/", hf = "bert.embeddings.";
  layout.word_embeddings =
      add.matrix(name + "word_embeddings", hf + "word_embeddings.weight", c.vocab_size, h);
  layout.position_embeddings = add.matrix(name + "position_embeddings",
                                          hf + "position_embeddings.weight", c.max_positions, h);
  layout.token_type_embeddings = add.matrix(name + "token_type_embeddings",
                                            hf + "token_type_embeddings.weight", c.token_types, h);
  layout.embeddings_norm = add.norm(name + "LayerNorm", hf + "LayerNorm", h);
  add.finish_group("embeddings");
}

}  // namespace

ParameterLayout::ParameterLayout(const BertConfig& config, const Stage& stage)
    : norm(config.norm), boundaries{0} {
  if (!stage.deals(config.layers)) {
    fail("{} cannot be divided among {}", counted(config.layers, "layer"),
         counted(stage.count, "stage"));
  }
  const auto blocks = static_cast<int>(config.layers) + 2;
  Builder add(*this, config.norm);
  if (stage.has_block(blocks - 1, blocks)) add_heads(config, add, *this);
  layers.resize(static_cast<size_t>(config.layers));
  for (int64_t layer = config.layers - 1; layer >= 0; --layer) {
    if (!stage.has_block(static_cast<int>(layer) + 1, blocks)) continue;
    layers[static_cast<size_t>(layer)] = add_layer(config, layer, add);
  }
  if (stage.has_block(0, blocks)) add_embeddings(config, add, *this);
}

std::vector<int64_t> ParameterLayout::boundaries_with_halves() const {
  std::vector<int64_t> cut = boundaries;
  for (const LayerPlace& layer : layers) {
    if (layer.output.weight.size() > 0) cut.push_back(layer.halfway());
  }
  std::ranges::sort(cut);
  return cut;
}

Range ParameterLayout::group(const std::string& name) const {
  const auto index = static_cast<size_t>(std::ranges::find(groups, name) - groups.begin());
  return {boundaries.at(index), boundaries.at(index + 1)};
}

Range ParameterLayout::words() const {
  return {word_embeddings.offset, word_embeddings.offset + word_embeddings.size()};
}

std::vector<Range> ParameterLayout::completes(size_t group, bool split_tied_embedding) const {
  const Range own{boundaries.at(group), boundaries.at(group + 1)};
  if (split_tied_embedding && group == 0) return {words(), own};
  if (split_tied_embedding && group + 1 == groups.size()) return {{words().end, own.end}};
  return {own};
}

std::vector<ParameterSegment> ParameterLayout::segments() const {
  std::vector<ParameterSegment> segments;
  for (size_t i = 0; i < all.size(); ++i) {
    const int64_t end = i + 1 < all.size() ? all[i + 1].offset : size;
    segments.push_back({all[i].offset, end - all[i].offset, all[i].decay});
  }
  return segments;
}

std::vector<Range> places_in_whole(const ParameterLayout& stage, const Range& range,
                                   const ParameterLayout& whole) {
  std::vector<Range> places;
  for (const std::string& name : stage.groups) {
    const Range group = stage.group(name);
    const Range part{std::max(group.begin, range.begin), std::min(group.end, range.end)};
    if (part.size() <= 0) continue;
    const int64_t begin = whole.group(name).begin + part.begin - group.begin;
    if (places.empty() || places.back().end != begin) places.push_back({begin, begin});
    places.back().end += part.size();
  }
  return places;
}

void copy_groups(const ParameterLayout& from, const HostWeights& weights, const ParameterLayout& to,
                 HostWeights& copied) {
  for (const std::string& name : from.groups) {
    if (std::ranges::find(to.groups, name) == to.groups.end()) continue;
    const Range source = from.group(name);
    std::copy_n(weights.begin() + source.begin, source.size(),
                copied.begin() + to.group(name).begin);
  }
}

}  // namespace strata::bert
