#include "bert/config.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/files/files.h"
#include "tests/bert/errors.h"

namespace strata::bert {
namespace {

using nlohmann::json;

class Config : public testing::Test {
 protected:
  BertConfig load() {
    write_file_atomically(file_.path(), object_.dump());
    return load_bert_config(file_.name());
  }
  void expect_refused(const std::vector<std::string>& parts) {
    std::vector<std::string> all = parts;
    all.push_back(file_.name());
    expect_error([&] { load(); }, all);
  }

  TemporaryFile file_{".json"};
  json object_ = {{"vocab_size", 100},           {"hidden_size", 128},
                  {"num_hidden_layers", 3},      {"num_attention_heads", 4},
                  {"intermediate_size", 256},    {"max_position_embeddings", 64},
                  {"type_vocab_size", 2},        {"hidden_act", "gelu"},
                  {"hidden_dropout_prob", 0.25}, {"attention_probs_dropout_prob", 0.5},
                  {"layer_norm_eps", 1e-6},      {"model_type", "bert"}};
};

TEST(ConfigPresets, BertLargeIsTheBenchmarksModel) {
  const BertConfig config = load_bert_config("bert-large");
  EXPECT_EQ(config.vocab_size, 30522);
  EXPECT_EQ(config.hidden_size, 1024);
  EXPECT_EQ(config.layers, 24);
  EXPECT_EQ(config.heads, 16);
  EXPECT_EQ(config.head_size(), 64);
  EXPECT_EQ(config.intermediate_size, 4096);
  EXPECT_EQ(config.max_positions, 512);
  EXPECT_EQ(config.activation, device::Activation::kGeluTanh);
  EXPECT_FLOAT_EQ(config.hidden_dropout, 0.1f);
}

TEST(ConfigPresets, MinilmIsTheQuickstartsModelWithoutDropout) {
  const BertConfig config = load_bert_config("minilm");
  EXPECT_EQ(config.vocab_size, 30522);
  EXPECT_EQ(config.hidden_size, 384);
  EXPECT_EQ(config.layers, 6);
  EXPECT_EQ(config.heads, 12);
  EXPECT_EQ(config.intermediate_size, 1536);
  EXPECT_EQ(config.max_positions, 512);
  EXPECT_EQ(config.activation, device::Activation::kGelu);
  EXPECT_EQ(config.hidden_dropout, 0);
  EXPECT_EQ(config.attention_dropout, 0);
}

TEST(ConfigPresets, TinyIsSmallAndTakesTheBenchmarksVocabulary) {
  const BertConfig config = load_bert_config("tiny");
  EXPECT_EQ(config.layers, 2);
  EXPECT_EQ(config.hidden_size, 64);
  EXPECT_EQ(config.vocab_size, 30522);
}

TEST_F(Config, EveryKeyIsRead) {
  const BertConfig config = load();
  EXPECT_EQ(config.vocab_size, 100);
  EXPECT_EQ(config.hidden_size, 128);
  EXPECT_EQ(config.layers, 3);
  EXPECT_EQ(config.heads, 4);
  EXPECT_EQ(config.head_size(), 32);
  EXPECT_EQ(config.intermediate_size, 256);
  EXPECT_EQ(config.max_positions, 64);
  EXPECT_EQ(config.token_types, 2);
  EXPECT_EQ(config.activation, device::Activation::kGelu);
  EXPECT_FLOAT_EQ(config.hidden_dropout, 0.25f);
  EXPECT_FLOAT_EQ(config.attention_dropout, 0.5f);
  EXPECT_FLOAT_EQ(config.layer_norm_epsilon, 1e-6f);
}

TEST_F(Config, KeysMissingFromGooglesFilesHaveDefaults) {
  object_.erase("layer_norm_eps");
  EXPECT_FLOAT_EQ(load().layer_norm_epsilon, 1e-12f);
}

TEST_F(Config, TheTanhGeluIsKnownByBothNames) {
  for (const char* name : {"gelu_new", "gelu_pytorch_tanh"}) {
    object_["hidden_act"] = name;
    EXPECT_EQ(load().activation, device::Activation::kGeluTanh);
  }
}

TEST_F(Config, MissingAndWrongKeysAreNamed) {
  for (const char* key : {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
                          "intermediate_size", "max_position_embeddings", "type_vocab_size"}) {
    const json whole = object_;
    object_.erase(key);
    expect_refused({key, "missing"});
    object_[key] = "many";
    expect_refused({key, "many", "integer"});
    object_[key] = 1.5;
    expect_refused({key, "1.5", "integer"});
    object_[key] = 0;
    expect_refused({std::string(key) + "=0 must be from 1 to"});
    object_[key] = -7;
    expect_refused({std::string(key) + "=-7 must be from 1 to"});
    object_[key] = int64_t{1} << 40;
    expect_refused({std::string(key) + "=1099511627776 must be from 1 to"});
    object_ = whole;
  }
}

TEST_F(Config, ShapesThatCannotRunAreRefused) {
  object_["num_attention_heads"] = 3;
  expect_refused({"hidden_size=128", "num_attention_heads=3"});
  object_["num_attention_heads"] = 8;
  expect_refused({"32 or 64"});
  object_["num_attention_heads"] = 2;
  EXPECT_EQ(load().head_size(), 64);
  object_["intermediate_size"] = 100;
  expect_refused({"intermediate_size=100"});
}

TEST_F(Config, ValuesOutOfRangeAreRefused) {
  object_["hidden_dropout_prob"] = 1.0;
  expect_refused({"hidden_dropout_prob=1"});
  object_["hidden_dropout_prob"] = "none";
  expect_refused({"hidden_dropout_prob", "none"});
  object_["hidden_dropout_prob"] = 0;
  object_["attention_probs_dropout_prob"] = -0.5;
  expect_refused({"attention_probs_dropout_prob=-0.5"});
  object_["attention_probs_dropout_prob"] = 0;
  object_["layer_norm_eps"] = 0;
  expect_refused({"layer_norm_eps=0"});
  object_["layer_norm_eps"] = 1e-12;
  object_["hidden_act"] = "relu";
  expect_refused({"hidden_act", "relu"});
}

TEST_F(Config, TextThatIsNotAJsonObjectIsRefused) {
  for (const char* text : {"", "[1, 2]", "{\"vocab_size\": ", "tiny"}) {
    write_file_atomically(file_.path(), text);
    expect_error([&] { load_bert_config(file_.name()); }, {file_.name(), "JSON"});
  }
  expect_error([] { load_bert_config("/nowhere/config.json"); }, {"/nowhere/config.json"});
}

TEST_F(Config, EveryKeyThatDiffersIsNamed) {
  const BertConfig was = load();
  EXPECT_EQ(differences(to_text(was), to_text(was)), "");
  const std::pair<const char*, json> changes[] = {
      {"vocab_size", 101},          {"hidden_size", 256},
      {"num_hidden_layers", 4},     {"num_attention_heads", 2},
      {"intermediate_size", 288},   {"max_position_embeddings", 65},
      {"type_vocab_size", 3},       {"hidden_act", "gelu_new"},
      {"hidden_dropout_prob", 0.5}, {"attention_probs_dropout_prob", 0.25},
      {"layer_norm_eps", 1e-12}};
  for (const auto& [key, value] : changes) {
    const json before = std::exchange(object_[key], value);
    EXPECT_EQ(differences(to_text(load()), to_text(was)),
              std::string(key) + " is " + value.dump() + ", was " + before.dump());
    object_[key] = before;
  }
  BertConfig is = was;
  is.token_types = 3;
  is.layers = 1;
  EXPECT_EQ(differences(to_text(is), to_text(was)),
            "num_hidden_layers is 1, was 3; type_vocab_size is 3, was 2");
}

TEST_F(Config, OtherModelsAreRefusedByKey) {
  const std::pair<const char*, json> others[] = {
      {"model_type", "roberta"},
      {"model_type", "electra"},
      {"model_type", "albert"},
      {"model_type", nullptr},
      {"architectures", {"RobertaForMaskedLM"}},
      {"architectures", {"BertModel", "JinaBertForMaskedLM"}},
      {"architectures", {"BertGenerationEncoder"}},
      {"architectures", "BertModel"},
      {"position_embedding_type", "relative_key"},
      {"position_embedding_type", "relative_key_query"},
      {"tie_word_embeddings", false},
      {"is_decoder", true},
      {"is_encoder_decoder", true},
      {"add_cross_attention", true},
      {"cross_attention_hidden_size", 128},
      {"directionality", "left"},
      {"embedding_size", 64},
      {"emb_size", 64},
      {"num_key_value_heads", 1},
      {"head_dim", 64},
      {"attention_head_size", 16},
      {"pruned_heads", {{"0", {1}}}},
      {"quantization_config", {{"bits", 8}}},
      {"auto_map", {{"AutoModel", "modeling.Model"}}},
      {"layer_norm_type", "rms_norm"},
      {"layer_norm_epsilon", 1e-5},
      {"norm", "pre"},
      {"norm", "none"},
      {"num_hidden_groups", 1},
      {"inner_group_num", 1},
      {"alibi_starting_size", 512},
      {"rotary_emb_fraction", 1.0},
      {"use_bias", false},
      {"hidden_act", "relu"},
      {"hidden_act", "gelu_10"},
      {"hidden_act", "swiglu"},
      {"type_vocab_size", 1},
  };
  const json whole = object_;
  for (const auto& [key, value] : others) {
    object_[key] = value;
    expect_refused({key, "BERT"});
    object_ = whole;
  }
}

TEST_F(Config, TheTypeOfAModelIsNamedBeforeItsMissingKeys) {
  object_["model_type"] = "distilbert";
  object_.erase("hidden_size");
  expect_refused({"model_type", "distilbert", "BERT"});
}

TEST_F(Config, KeysThatChangeNothingAreRead) {
  const BertConfig plain = load();
  object_.update(
      json{{"architectures", {"BertForPreTraining", "TFBertModel", "FlaxBertForMaskedLM"}},
           {"position_embedding_type", "absolute"},
           {"tie_word_embeddings", true},
           {"is_decoder", false},
           {"add_cross_attention", false},
           {"cross_attention_hidden_size", nullptr},
           {"pruned_heads", json::object()},
           {"auto_map", json::object()},
           {"directionality", "bidi"},
           {"embedding_size", 128},
           {"num_key_value_heads", 4},
           {"classifier_dropout", nullptr},
           {"gradient_checkpointing", false},
           {"initializer_range", 0.02},
           {"pad_token_id", 0},
           {"pooler_fc_size", 768},
           {"pooler_type", "first_token_transform"},
           {"torch_dtype", "float32"},
           {"transformers_version", "4.40.0"},
           {"use_cache", true},
           {"_name_or_path", "somewhere"},
           {"id2label", {{"0", "LABEL_0"}}},
           {"of_another_program", ""}});
  EXPECT_EQ(to_text(load()), to_text(plain));
}

TEST(ConfigVocabulary, IsPaddedToAMultipleOfEightOrMore) {
  for (const int64_t rows : {30528, 30592}) EXPECT_TRUE(is_padded_vocabulary(rows, 30522)) << rows;
  for (const int64_t rows : {30520, 30522, 30523, 30536, 30656, 50265}) {
    EXPECT_FALSE(is_padded_vocabulary(rows, 30522)) << rows;
  }
}

// The JSON library would print it recursively.
TEST_F(Config, ADeeplyNestedValueIsRefusedWithoutPrintingIt) {
  constexpr size_t kDepth = 300'000;
  for (const char* key : {"vocab_size", "layer_norm_eps", "hidden_act"}) {
    object_[key] = "DEEP";
    std::string text = object_.dump();
    text.replace(text.find("\"DEEP\""), 6, std::string(kDepth, '[') + std::string(kDepth, ']'));
    write_file_atomically(file_.path(), text);
    expect_error([&] { load_bert_config(file_.name()); }, {file_.name(), key, "an array"});
    object_[key] = 1;
  }
}

}  // namespace
}  // namespace strata::bert
