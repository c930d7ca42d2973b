// The shape of a BERT model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "bert/norm.h"
#include "device/backend.h"

namespace strata::bert {

struct BertConfig {
  int64_t vocab_size = 30522;
  int64_t hidden_size = 1024;
  int64_t layers = 24;
  int64_t heads = 16;
  int64_t intermediate_size = 4096;
  int64_t max_positions = 512;
  int64_t token_types = 2;
  float layer_norm_epsilon = 1e-12f;
  float hidden_dropout = 0.1f;
  float attention_dropout = 0.1f;
  device::Activation activation = device::Activation::kGelu;
  Norm norm = Norm::kPost;

  int64_t head_size() const { return hidden_size / heads; }
};

// Loads a configuration. `source` is "bert-large" (the benchmark's model), "minilm" (the
// quickstart's), "tiny" (2 layers, hidden 64, for tests), or the path of a config.json /
// bert_config.json in the format of Google and Hugging Face. Throws Error naming file, key and
// value if a key is missing, has the wrong type or an impossible value, or requests a model other
// than BERT. Unknown keys are refused unless their value is null or empty.
BertConfig load_bert_config(const std::string& source);

// Throws Error naming `source` and the key if the shape is not supported, for example if
// hidden_size is not heads x (32 or 64).
void validate(const BertConfig& config, const std::string& source);

// True if `rows` is the size of a vocabulary of `words` words padded to a multiple of 8, 16, 32, 64
// or 128, such as 30528 for 30522.
bool is_padded_vocabulary(int64_t rows, int64_t words);

// Returns the whole configuration in the format of config.json, on one line. Models with equal
// texts are the same.
std::string to_text(const BertConfig& config);
// Describes the differences of two such texts, as in `hidden_act is "gelu", was "gelu_new"; ...`.
std::string differences(const std::string& is, const std::string& was);

}  // namespace strata::bert
