#include "bert/weights/weights.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "bert/weights/safetensors.h"
#include "tests/bert/errors.h"
#include "tests/bert/weights/small_config.h"

namespace strata::bert {
namespace {

// A file's tensors by name, to be changed and written again.
using Tensors = std::map<std::string, std::pair<std::vector<int64_t>, std::vector<float>>>;

Tensors read_all(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  Tensors tensors;
  for (const auto& [name, stored] : file.tensors()) {
    std::vector<float> values(static_cast<size_t>(stored.size()));
    file.read(name, values);
    tensors[name] = {stored.shape, values};
  }
  return tensors;
}

void write_all(const std::filesystem::path& path, const Tensors& tensors) {
  std::vector<NamedTensor> named;
  for (const auto& [name, tensor] : tensors) named.push_back({name, tensor.first, tensor.second});
  write_safetensors(path, named);
}

class Weights : public testing::Test {
 protected:
  // Writes a whole file of random weights, changed by `change`.
  void write_file(const std::function<void(Tensors&)>& change) {
    save_weights(layout_, weights_, file_.path());
    Tensors tensors = read_all(file_.path());
    change(tensors);
    write_all(file_.path(), tensors);
  }
  LoadedWeights load() { return load_weights(layout_, file_.path(), 9); }

  const ParameterLayout layout_{small_config()};
  const HostWeights weights_ = random_weights(layout_, 1);
  TemporaryFile file_{".safetensors"};
};

void rename(Tensors& tensors, const std::string& from, const std::string& to) {
  Tensors renamed;
  for (auto& [name, tensor] : tensors) {
    std::string other = name;
    if (const size_t at = other.find(from); at != std::string::npos) {
      other.replace(at, from.size(), to);
    }
    renamed[other] = tensor;
  }
  tensors = renamed;
}

TEST_F(Weights, RandomWeightsHaveTheReferencesDistribution) {
  ParameterLayout layout(load_bert_config("tiny"));
  const HostWeights weights = random_weights(layout, 5);
  const Parameter& p = layout.word_embeddings;
  double sum = 0, squares = 0, largest = 0;
  for (int64_t i = 0; i < p.size(); ++i) {
    const double value = weights[static_cast<size_t>(p.offset + i)];
    sum += value;
    squares += value * value;
    largest = std::max(largest, std::abs(value));
  }
  const double count = static_cast<double>(p.size());
  EXPECT_NEAR(sum / count, 0, 1e-4);
  // A normal truncated at two deviations has a deviation of 0.8796.
  EXPECT_NEAR(std::sqrt(squares / count), 0.02 * 0.87962566, 5e-5);
  EXPECT_LE(largest, 0.04);
  EXPECT_GT(largest, 0.0399);
}

TEST_F(Weights, RandomBiasesAreZeroAndGainsOne) {
  for (const Parameter& p : layout_.all) {
    if (p.decay) continue;
    const float expected = p.name.ends_with("/gamma") ? 1.0f : 0.0f;
    for (int64_t i = 0; i < p.size(); ++i) ASSERT_EQ(weights_[p.offset + i], expected) << p.name;
  }
}

TEST_F(Weights, TheSeedDecidesEveryBit) {
  EXPECT_EQ(random_weights(layout_, 1), weights_);
  EXPECT_NE(random_weights(layout_, 2), weights_);
}

// Results of truncated_normal(1, element) of tests/golden/bert/eval_step0.py. The first draws for
// elements 0 and 15 lie beyond two deviations.
TEST_F(Weights, TheFirstWeightsMatchTheSameDrawsInPython) {
  const std::pair<size_t, double> expected[] = {{0, 0.009084840933488958},
                                                {1, -0.026589282556338883},
                                                {2, 0.00904346765445251},
                                                {15, 0.021380718069322888}};
  ASSERT_EQ(layout_.all.front().offset, 0);
  for (const auto& [element, value] : expected) EXPECT_FLOAT_EQ(weights_[element], value);
}

TEST_F(Weights, SavedWeightsAreLoadedAgain) {
  save_weights(layout_, weights_, file_.path());
  const LoadedWeights loaded = load();
  EXPECT_EQ(loaded.values, weights_);
  EXPECT_TRUE(loaded.initialised.empty());
  EXPECT_TRUE(loaded.unused.empty());
}

TEST_F(Weights, AFileOfTheEncoderAloneInitialisesTheHeads) {
  write_file([](Tensors& tensors) {
    std::erase_if(tensors, [](const auto& entry) {
      return entry.first.starts_with("cls.") || entry.first.find("pooler") != std::string::npos;
    });
    rename(tensors, "bert.", "");
    tensors["embeddings.position_ids"] = {{1, 16}, std::vector<float>(16)};
  });
  const LoadedWeights loaded = load();
  EXPECT_EQ(loaded.unused, std::vector<std::string>{"embeddings.position_ids"});
  EXPECT_EQ(loaded.initialised.size(), 9u);

  // The encoder comes from the file, the transform is the identity, and the rest is
  // random_weights(9).
  const HostWeights fresh = random_weights(layout_, 9);
  for (const Parameter& p : layout_.all) {
    const bool missing = p.name.starts_with("cls/") || p.name.starts_with("bert/pooler/");
    EXPECT_EQ(std::count(loaded.initialised.begin(), loaded.initialised.end(), p.name), missing)
        << p.name;
    for (int64_t i = 0; i < p.size(); ++i) {
      const float expected = p.name == layout_.transform.weight.name
                                 ? (i / p.cols == i % p.cols ? 1.0f : 0.0f)
                             : missing ? fresh[p.offset + i]
                                       : weights_[p.offset + i];
      ASSERT_EQ(loaded.values[p.offset + i], expected) << p.name << " " << i;
    }
  }
}

TEST_F(Weights, OldNamesOfLayerNormAreKnown) {
  write_file([](Tensors& tensors) {
    rename(tensors, "LayerNorm.weight", "LayerNorm.gamma");
    rename(tensors, "LayerNorm.bias", "LayerNorm.beta");
  });
  EXPECT_EQ(load().values, weights_);
}

TEST_F(Weights, AMissingEncoderTensorIsNamed) {
  const std::string name = "bert.encoder.layer.1.output.dense.weight";
  write_file([&](Tensors& tensors) { tensors.erase(name); });
  expect_error([&] { load(); }, {file_.name(), name, "model.checkpoint"});
}

TEST_F(Weights, TensorsWithoutAPlaceAreRefusedByName) {
  for (const char* name :
       {"bert.encoder.layer.2.output.dense.weight", "lm_head.weight", "classifier.weight",
        "embeddings_project.weight",
        "bert.encoder.layer.0.attention.self.distance_embedding.weight",
        "bert.encoder.layer.0.crossattention.self.query.weight",
        "bert.encoder.layer.0.attention.self.query.lora_A", "generator_predictions.dense.weight",
        "adam_m_of_something", "bert.encoder.rel_pos.bias"}) {
    write_file([&](Tensors& tensors) { tensors[name] = {{2}, {1, 2}}; });
    expect_error([&] { load(); }, {file_.name(), std::string("has \"") + name +
                                                     "\", for which this model has no parameter"});
  }
  write_file([&](Tensors& tensors) {
    for (const char* name : {"a", "b", "c", "d", "e"}) tensors[name] = {{1}, {1}};
  });
  expect_error([&] { load(); }, {"\"a\", \"b\", \"c\" and 2 more"});
}

TEST_F(Weights, HarmlessTensorsAreListed) {
  const std::vector<std::string> harmless = {"bert.embeddings.position_ids",
                                             "bert.embeddings.token_type_ids",
                                             "bert.encoder.layer.0.output.dense.weight.exp_avg",
                                             "bert.pooler.projection.weight",
                                             "bert/encoder/layer_0/output/dense/kernel/Adam_1",
                                             "bert/encoder/layer_0/output/dense/kernel/adam_m",
                                             "bert/encoder/layer_0/output/dense/kernel/lamb_v",
                                             "beta1_power",
                                             "embeddings.position_ids",
                                             "global_step"};
  write_file([&](Tensors& tensors) {
    for (const std::string& name : harmless) tensors[name] = {{1}, {1}};
  });
  const LoadedWeights loaded = load();
  EXPECT_EQ(loaded.unused, harmless);
  EXPECT_EQ(loaded.values, weights_);
}

// Hugging Face's files may hold copies of shared tensors, with or instead of the originals.
TEST_F(Weights, OutputWeightsMustBeTheWordEmbeddings) {
  const std::string words = "bert.embeddings.word_embeddings.weight", bias = "cls.predictions.bias";
  const std::string copy = "cls.predictions.decoder.weight",
                    copied_bias = "cls.predictions.decoder.bias";
  write_file([&](Tensors& tensors) {
    tensors[copy] = tensors[words];
    tensors[copied_bias] = tensors[bias];
  });
  EXPECT_EQ(load().values, weights_);
  EXPECT_TRUE(load().unused.empty());
  write_file([&](Tensors& tensors) {
    rename(tensors, words, copy);
    rename(tensors, bias, copied_bias);
  });
  EXPECT_EQ(load().values, weights_);
  EXPECT_TRUE(load().initialised.empty());
  write_file([&](Tensors& tensors) {
    tensors[copy] = tensors[words];
    tensors[copy].second[3] += 1;
  });
  expect_error([&] { load(); }, {file_.name(), words, copy, "differ", "output weights"});
  write_file([&](Tensors& tensors) {
    tensors[copied_bias] = tensors[bias];
    tensors[copied_bias].second[3] += 1;
  });
  expect_error([&] { load(); }, {bias, copied_bias, "differ"});
}

TEST_F(Weights, TwoSpellingsOfOneTensorMustAgree) {
  const std::string name = "bert.encoder.layer.0.output.LayerNorm.";
  write_file([&](Tensors& tensors) { tensors[name + "gamma"] = tensors[name + "weight"]; });
  EXPECT_EQ(load().values, weights_);
  write_file([&](Tensors& tensors) { tensors[name + "gamma"] = {{64}, std::vector<float>(64)}; });
  expect_error([&] { load(); }, {name + "weight", name + "gamma", "differ"});
}

TEST_F(Weights, APaddedVocabularyIsCut) {
  write_file([&](Tensors& tensors) {
    for (const char* name : {"bert.embeddings.word_embeddings.weight", "cls.predictions.bias"}) {
      auto& [shape, values] = tensors[name];
      values.resize(values.size() / 50 * 56, 7);
      shape[0] = 56;
    }
    tensors["cls.predictions.decoder.weight"] = tensors["bert.embeddings.word_embeddings.weight"];
  });
  const LoadedWeights loaded = load();
  EXPECT_EQ(loaded.values, weights_);
  EXPECT_EQ(loaded.padding_rows, 6);
  EXPECT_TRUE(loaded.unused.empty());
  write_file([&](Tensors& tensors) {
    auto& [shape, values] = tensors["bert.embeddings.word_embeddings.weight"];
    values.resize(72 * 64);
    shape[0] = 72;
  });
  expect_error([&] { load(); }, {"word_embeddings", "[72, 64]", "[50, 64]"});
}

TEST_F(Weights, NanAndInfinityAreRefusedByName) {
  for (const float value : {std::nanf(""), -INFINITY}) {
    write_file([&](Tensors& tensors) {
      tensors.at("bert.encoder.layer.1.attention.self.query.weight").second.back() = value;
    });
    expect_error([&] { load(); },
                 {"\"bert.encoder.layer.1.attention.self.query.weight\" holds NaN"});
  }
}

TEST_F(Weights, AnotherShapeIsNamed) {
  const std::string name = "bert.embeddings.word_embeddings.weight";
  write_file([&](Tensors& tensors) { tensors[name] = {{49, 64}, std::vector<float>(49 * 64)}; });
  expect_error([&] { load(); }, {file_.name(), name, "[49, 64]", "[50, 64]"});
  write_file([&](Tensors& tensors) { tensors[name] = {{64, 50}, std::vector<float>(64 * 50)}; });
  expect_error([&] { load(); }, {name, "[64, 50]"});
}

}  // namespace
}  // namespace strata::bert
