#include "bert/config.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "base/files/files.h"

namespace strata::bert {
namespace {

using nlohmann::json;

// Uses GELU as MLPerf's reference computes it (mlcommons/training, language_model/tensorflow/bert,
// modeling.py), although its bert_config.json says "gelu".
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

// The quickstart's model: all-MiniLM-L6-v2, without dropout.
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

// Returns a value for a message. Structured values are only named, because the JSON library dumps
// them recursively to any depth.
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

// Keys that do not change the model: names, training settings, other tasks' heads and text
// generation. The list holds the common keys of Hugging Face's models, and those of BERT there and
// at Google.
constexpr std::string_view kHarmlessKeys[] = {
    "bad_words_ids",
    "begin_suppress_tokens",
    "bos_token_id",
    "chunk_size_feed_forward",
    "classifier_dropout",
    "cls_token_id",
    "decoder_start_token_id",
    "diversity_penalty",
    "do_sample",
    "dtype",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "eos_token_id",
    "exponential_decay_length_penalty",
    "finetuning_task",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "gradient_checkpointing",
    "id2label",
    "initializer_range",
    "label2id",
    "language",
    "length_penalty",
    "mask_token_id",
    "max_length",
    "min_length",
    "name_or_path",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "num_labels",
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_past",
    "output_scores",
    "pad_token_id",
    "prefix",
    "problem_type",
    "remove_invalid_values",
    "repetition_penalty",
    "return_dict",
    "return_dict_in_generate",
    "sep_token_id",
    "suppress_tokens",
    "task_specific_params",
    "temperature",
    "tf_legacy_loss",
    "tokenizer_class",
    "top_k",
    "top_p",
    "torch_dtype",
    "torchscript",
    "transformers_version",
    "typical_p",
    "unk_token_id",
    "use_bfloat16",
    "use_cache",
    "xla_device",
};

constexpr std::string_view kReadKeys[] = {"vocab_size",          "hidden_size",
                                          "num_hidden_layers",   "num_attention_heads",
                                          "intermediate_size",   "max_position_embeddings",
                                          "type_vocab_size",     "layer_norm_eps",
                                          "hidden_dropout_prob", "attention_probs_dropout_prob",
                                          "hidden_act"};

bool is_harmless_key(const std::string& key) {
  return std::ranges::binary_search(kHarmlessKeys, key) || key.starts_with('_') ||
         key.starts_with("pooler_") || std::ranges::count(kReadKeys, key) > 0;
}

bool is_empty(const json& value) {
  return value.is_null() || (value.is_structured() && value.empty()) ||
         (value.is_string() && value.get_ref<const std::string&>().empty());
}

// Matches "BertModel", "BertForPreTraining", ..., also with TensorFlow's or Flax's prefix.
bool is_bert_class(const json& name) {
  if (!name.is_string()) return false;
  std::string_view text = name.get_ref<const std::string&>();
  for (const std::string_view prefix : {"TF", "Flax"}) {
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  }
  return text.starts_with("Bert") && !text.starts_with("BertGeneration");
}

// Throws Error naming the first key that requests a model other than BERT.
void refuse_other_models(const json& object, const BertConfig& config, const std::string& file) {
  const int64_t head_size = config.heads > 0 ? config.hidden_size / config.heads : 0;
  const std::pair<std::string_view, json> needed[] = {
      {"model_type", "bert"},
      {"position_embedding_type", "absolute"},
      {"tie_word_embeddings", true},
      {"is_decoder", false},
      {"is_encoder_decoder", false},
      {"add_cross_attention", false},
      {"directionality", "bidi"},
      {"embedding_size", config.hidden_size},
      {"emb_size", config.hidden_size},
      {"num_key_value_heads", config.heads},
      {"head_dim", head_size},
      {"attention_head_size", head_size},
      {"norm", "post"},
  };
  for (const auto& [key, value] : object.items()) {
    if (is_harmless_key(key) || is_empty(value)) continue;
    if (key == "architectures" && value.is_array()) {
      const auto other = std::ranges::find_if_not(value, is_bert_class);
      if (other == value.end()) continue;
      fail("{}: architectures: {} is not BERT; give the config.json of a BERT model", file,
           shown(*other));
    }
    const auto found = std::ranges::find(needed, key, &std::pair<std::string_view, json>::first);
    if (found == std::end(needed)) {
      fail(
          "{}: the key \"{}\" is not a BERT key and may change what the model computes; remove it "
          "if it does not, or give the config.json of a BERT model",
          file, key);
    }
    if (value == found->second) continue;
    fail("{}: {}: {} is not BERT's value, {}; give the config.json of a BERT model", file, key,
         shown(value), found->second.dump());
  }
}

BertConfig read_config_file(const std::string& path) {
  const json object = json::parse(read_file(path), nullptr, false);
  if (object.is_discarded() || !object.is_object()) {
    fail("{}: not a JSON object; a BERT config.json or bert_config.json was expected", path);
  }
  // Checked before missing keys, because other models lack some of BERT's.
  if (const auto type = object.find("model_type"); type != object.end() && *type != "bert") {
    fail("{}: model_type: {} is not BERT; give the config.json of a BERT model", path,
         shown(*type));
  }
  const Reader read(object, path);
  BertConfig config;
  config.vocab_size = read.integer("vocab_size");
  config.hidden_size = read.integer("hidden_size");
  config.layers = read.integer("num_hidden_layers");
  config.heads = read.integer("num_attention_heads");
  config.intermediate_size = read.integer("intermediate_size");
  config.max_positions = read.integer("max_position_embeddings");
  config.token_types = read.integer("type_vocab_size");
  config.layer_norm_epsilon = read.number("layer_norm_eps", 1e-12f);
  config.hidden_dropout = read.number("hidden_dropout_prob", 0.1f);
  config.attention_dropout = read.number("attention_probs_dropout_prob", 0.1f);
  config.activation = read.activation("hidden_act");
  refuse_other_models(object, config, path);
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
  positive("type_vocab_size", config.token_types, 1 << 10);
  if (config.hidden_size != config.heads * 32 && config.hidden_size != config.heads * 64) {
    fail("{}: hidden_size={} with num_attention_heads={}: heads must be 32 or 64 wide", source,
         config.hidden_size, config.heads);
  }
  if (config.intermediate_size % 32 != 0) {
    fail("{}: intermediate_size={} must be a multiple of 32", source, config.intermediate_size);
  }
  if (config.token_types < 2) {
    fail(
        "{}: type_vocab_size=1: samples have two token types; give the config.json of a BERT model",
        source);
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

bool is_padded_vocabulary(int64_t rows, int64_t words) {
  for (const int64_t multiple : {8, 16, 32, 64, 128}) {
    if (rows > words && rows == (words + multiple - 1) / multiple * multiple) return true;
  }
  return false;
}

std::string to_text(const BertConfig& config) {
  // Keeps the written digits: 0.1 instead of the nearest float.
  const auto decimal = [](float value) { return std::stod(fmt::format("{}", value)); };
  constexpr const char* kNorms[] = {"post", "pre", "none"};
  const bool exact = config.activation == device::Activation::kGelu;
  return nlohmann::ordered_json{{"vocab_size", config.vocab_size},
                                {"hidden_size", config.hidden_size},
                                {"num_hidden_layers", config.layers},
                                {"num_attention_heads", config.heads},
                                {"intermediate_size", config.intermediate_size},
                                {"max_position_embeddings", config.max_positions},
                                {"type_vocab_size", config.token_types},
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
