#include "bert/config.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"

namespace strata::bert {
namespace {

using nlohmann::json;

// GELU as MLPerf's reference computes it (mlcommons/training, language_model/tensorflow/bert,
// modeling.py), though its bert_config.json says "gelu".
BertConfig bert_large() {
  BertConfig config;
  config.activation = device::Activation::kGeluTanh;
  return config;
}

BertConfig tiny() {
  BertConfig config;
  config.hidden_size = 64;
  config.layers = 2;
  config.heads = 2;
  config.intermediate_size = 128;
  return config;
}

// The quickstart's: all-MiniLM-L6-v2, without dropout.
BertConfig minilm() {
  BertConfig config;
  config.hidden_size = 384;
  config.layers = 6;
  config.heads = 12;
  config.intermediate_size = 1536;
  config.hidden_dropout = 0;
  config.attention_dropout = 0;
  return config;
}

// For a message. The library writes what lies inside a value by calling itself, however deep.
std::string shown(const json& value) {
  return value.is_structured() ? fmt::format("an {}", value.type_name()) : value.dump();
}

class Reader {
 public:
  Reader(const json& object, const std::string& file) : object_(object), file_(file) {}

  int64_t integer(const char* key) const {
    const json& value = required(key);
    if (!value.is_number_integer()) fail("{}: {}: {} is not an integer", file_, key, shown(value));
    return value.get<int64_t>();
  }
  float number(const char* key, float otherwise) const {
    if (!object_.contains(key)) return otherwise;
    if (!object_[key].is_number())
      fail("{}: {}: {} is not a number", file_, key, shown(object_[key]));
    return object_[key].get<float>();
  }
  device::Activation activation(const char* key) const {
    const json& value = required(key);
    if (value == "gelu") return device::Activation::kGelu;
    if (value == "gelu_new" || value == "gelu_pytorch_tanh") return device::Activation::kGeluTanh;
    fail("{}: {}: {} is not an activation of BERT; use \"gelu\" or \"gelu_new\"", file_, key,
         shown(value));
  }

 private:
  const json& required(const char* key) const {
    if (!object_.contains(key)) fail("{}: the key \"{}\" is missing", file_, key);
    return object_[key];
  }
  const json& object_;
  const std::string& file_;
};

BertConfig read_config_file(const std::string& path) {
  const json object = json::parse(read_file(path), nullptr, false);
  if (object.is_discarded() || !object.is_object()) {
    fail("{}: not a JSON object; a BERT config.json or bert_config.json was expected", path);
  }
  const Reader read(object, path);
  BertConfig config;
  config.vocab_size = read.integer("vocab_size");
  config.hidden_size = read.integer("hidden_size");
  config.layers = read.integer("num_hidden_layers");
  config.heads = read.integer("num_attention_heads");
  config.intermediate_size = read.integer("intermediate_size");
  config.max_positions = read.integer("max_position_embeddings");
  config.segments = read.integer("type_vocab_size");
  config.layer_norm_epsilon = read.number("layer_norm_eps", 1e-12f);
  config.hidden_dropout = read.number("hidden_dropout_prob", 0.1f);
  config.attention_dropout = read.number("attention_probs_dropout_prob", 0.1f);
  config.activation = read.activation("hidden_act");
  return config;
}

}  // namespace

void validate(const BertConfig& config, const std::string& source) {
  const auto positive = [&](const char* key, int64_t value, int64_t limit) {
    if (value < 1 || value > limit)
      fail("{}: {}={} must be from 1 to {}", source, key, value, limit);
  };
  positive("vocab_size", config.vocab_size, 1 << 24);
  positive("hidden_size", config.hidden_size, 1 << 16);
  positive("num_hidden_layers", config.layers, 1 << 12);
  positive("num_attention_heads", config.heads, 1 << 12);
  positive("intermediate_size", config.intermediate_size, 1 << 18);
  positive("max_position_embeddings", config.max_positions, 1 << 16);
  positive("type_vocab_size", config.segments, 1 << 10);
  if (config.hidden_size != config.heads * 32 && config.hidden_size != config.heads * 64) {
    fail("{}: hidden_size={} with num_attention_heads={}: heads must be 32 or 64 wide", source,
         config.hidden_size, config.heads);
  }
  if (config.intermediate_size % 32 != 0) {
    fail("{}: intermediate_size={} must be a multiple of 32", source, config.intermediate_size);
  }
  const auto probability = [&](const char* key, float value) {
    if (!(value >= 0.0f && value < 1.0f)) fail("{}: {}={} must be in [0, 1)", source, key, value);
  };
  probability("hidden_dropout_prob", config.hidden_dropout);
  probability("attention_probs_dropout_prob", config.attention_dropout);
  if (!(config.layer_norm_epsilon > 0.0f)) {
    fail("{}: layer_norm_eps={} must be positive", source, config.layer_norm_epsilon);
  }
}

std::string to_text(const BertConfig& config) {
  // As it was written: 0.1, not the float nearest to it.
  const auto decimal = [](float value) { return std::stod(fmt::format("{}", value)); };
  constexpr const char* kNorms[] = {"post", "pre", "none"};
  const bool exact = config.activation == device::Activation::kGelu;
  return nlohmann::ordered_json{{"vocab_size", config.vocab_size},
                                {"hidden_size", config.hidden_size},
                                {"num_hidden_layers", config.layers},
                                {"num_attention_heads", config.heads},
                                {"intermediate_size", config.intermediate_size},
                                {"max_position_embeddings", config.max_positions},
                                {"type_vocab_size", config.segments},
                                {"layer_norm_eps", decimal(config.layer_norm_epsilon)},
                                {"hidden_dropout_prob", decimal(config.hidden_dropout)},
                                {"attention_probs_dropout_prob", decimal(config.attention_dropout)},
                                {"hidden_act", exact ? "gelu" : "gelu_new"},
                                {"norm", kNorms[static_cast<size_t>(config.norm)]}}
      .dump();
}

std::string differences(const std::string& is, const std::string& was) {
  const auto parse = [](const std::string& text) {
    const auto object = nlohmann::ordered_json::parse(text, nullptr, false);
    return object.is_object() ? object : nlohmann::ordered_json::object();
  };
  const auto now = parse(is), before = parse(was);
  std::string text;
  for (const auto& [key, value] : now.items()) {
    const auto other = before.value(key, nlohmann::ordered_json());
    if (value == other) continue;
    text += fmt::format("{}{} is {}, was {}", text.empty() ? "" : "; ", key, shown(value),
                        shown(other));
  }
  return text;
}

BertConfig load_bert_config(const std::string& source) {
  const BertConfig config = source == "bert-large" ? bert_large()
                            : source == "minilm"   ? minilm()
                            : source == "tiny"     ? tiny()
                                                   : read_config_file(source);
  validate(config, source);
  return config;
}

}  // namespace strata::bert
