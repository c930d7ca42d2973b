#include "training/setup.h"

#include <thread>

#include "base/error.h"
#include "base/files/files.h"
#include "base/threads/processors.h"
#include "bert/weights/safetensors.h"
#include "device/registry/backends.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"
#include "tests/training/small_training.h"
#include "training/options.h"

namespace strata::training {
namespace {

using testing_support::error_of;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class Setup : public testing_support::TemporaryDirectory {};

TEST_F(Setup, TheConfigurationOverridesTheModelsDropout) {
  config::RunConfig config;
  config.model.config = "tiny";
  EXPECT_FLOAT_EQ(make_bert_config(config).hidden_dropout, 0.1f);
  config.model.hidden_dropout = 0.0;
  config.model.attention_dropout = 0.3;
  EXPECT_FLOAT_EQ(make_bert_config(config).hidden_dropout, 0.0f);
  EXPECT_FLOAT_EQ(make_bert_config(config).attention_dropout, 0.3f);
}

TEST_F(Setup, AVocabularyOfAnotherSizeIsRefused) {
  config::RunConfig config;
  config.model.config = "tiny";
  config.model.vocab = directory_ / "vocab.txt";
  write_file_atomically(*config.model.vocab, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
  const std::string error = error_of([&] { check_vocabulary(config, make_bert_config(config)); });
  EXPECT_TRUE(contains(error, config.model.vocab->string())) << error;
  EXPECT_TRUE(contains(error, "5 entries")) << error;
  EXPECT_TRUE(contains(error, "30522")) << error;
}

TEST_F(Setup, ModulesNeedALayerEachAndOneRankFewer) {
  config::RunConfig config;
  config.model.config = "tiny";
  config.ouroboros.modules = 3;
  const bert::BertConfig model = small_bert(3);
  EXPECT_NO_THROW(check_stages(config, model, 2));
  EXPECT_EQ(error_of([&] { check_stages(config, model, 4); }),
            "ouroboros.modules: 3 modules are on 2 ranks, not on 4; start 2, or use 5 modules");
  EXPECT_EQ(error_of([&] { check_stages(config, small_bert(2), 2); }),
            "ouroboros.modules: 3 modules need a layer each, tiny has 2; use fewer");
  EXPECT_EQ(error_of([&] { check_one_stage(config); }),
            "ouroboros.modules: 3: this measures steps without delay; set it to 1");
}

TEST_F(Setup, TheBackendIsTheOneAskedFor) {
  config::RunConfig config;
  config.device.threads = 1;
  config.model.precision = config::Precision::kFp32;
  EXPECT_EQ(make_backend(config)->name(), "cpu");
  EXPECT_EQ(make_backend(config)->compute_dtype(), device::DType::kF32);
  config.device.backend = &device::find_backend("reference");
  config.model.precision = config::Precision::kAuto;
  EXPECT_EQ(make_backend(config)->compute_dtype(), device::DType::kF64);
}

TEST_F(Setup, ProductsAreInBf16WhereTheProcessorHasThem) {
  config::RunConfig config;
  config.device.threads = 1;
  config.model.precision = config::Precision::kBf16;
  std::unique_ptr<device::Backend> backend;
  try {
    backend = make_backend(config);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_EQ(backend->compute_dtype(), device::DType::kBF16);
  EXPECT_EQ(backend->master_dtype(), device::DType::kF32);
}

TEST_F(Setup, ThereIsAThreadEvenWhereRanksOutnumberProcessors) {
  EXPECT_NO_THROW(make_backend(config::RunConfig{}, {0, 10000}));
}

TEST_F(Setup, ThreadsFollowTheAffinity) {
  std::thread([&] {
    const std::vector<int> processors = affinity();
    ASSERT_TRUE(set_affinity({processors.back()}));
    EXPECT_EQ(thread_count({}), 1);
    config::RunConfig config;
    config.device.threads = 3;
    EXPECT_EQ(thread_count(config), 3);
  }).join();
}

TEST_F(Setup, RanksShareTheProcessorsThatTheyMayBothUse) {
  const LocalRank apart{.rank = 1, .count = 2, .affinities = {{0}, {1}}};
  EXPECT_EQ(thread_count({}, apart), 1);
  const LocalRank both{.rank = 1, .count = 2, .affinities = {{0, 1}, {0, 1}}};
  EXPECT_EQ(thread_count({}, both), 1);
}

TEST_F(Setup, SamplesLongerThanTheModelAreRefused) {
  const auto path = directory_ / "data.hdf5";
  data::InstanceFileInfo info;
  info.vocabulary_size = kSmallVocabulary;
  info.max_length = 32;
  info.max_predictions = 8;
  data::write_instances(path, counting_instances(20), info);
  bert::BertConfig model = small_bert();
  EXPECT_EQ(open_data({path}, {}, model)->size(), 20u);
  EXPECT_EQ(open_data({path, directory_}, {}, model)->size(), 40u);
  model.max_positions = 20;
  const std::string error = error_of([&] { open_data({path}, {}, model); });
  EXPECT_TRUE(contains(error, path.string())) << error;
  EXPECT_TRUE(contains(error, "20 tokens")) << error;
  model.max_positions = 32;
  const std::string long_samples = error_of([&] { open_data({path}, {.max_length = 20}, model); });
  EXPECT_TRUE(contains(long_samples, "data.max_length is 20")) << long_samples;
  const std::string masked =
      error_of([&] { open_data({path}, {.max_predictions_per_seq = 2}, model); });
  EXPECT_TRUE(contains(masked, "data.max_predictions_per_seq is 2")) << masked;
}

TEST_F(Setup, SaysWhichDataIsNotThere) {
  config::DataConfig data{.train = {directory_}, .eval = {directory_ / "none.hdf5"}};
  const std::string error = error_of([&] { check_data_paths(data); });
  EXPECT_TRUE(contains(error, "data.eval: " + (directory_ / "none.hdf5").string())) << error;
  data.eval = {directory_};
  EXPECT_NO_THROW(check_data_paths(data));
}

TEST_F(Setup, CapacityHoldsTheLargestSamplesThatAreAllowed) {
  config::RunConfig config = small_run();
  config.batch.micro_batch = 4;
  config.data.max_predictions_per_seq = 7;
  EXPECT_EQ(capacity_of(config, small_bert()).tokens, 4 * 32);
  EXPECT_EQ(capacity_of(config, small_bert()).sequences, 4);
  EXPECT_EQ(capacity_of(config, small_bert()).masked, 4 * 7);
  config.data.max_length = 20;
  EXPECT_EQ(capacity_of(config, small_bert()).tokens, 4 * 20);
  config.data.max_length = 33;
  EXPECT_EQ(capacity_of(config, small_bert()).tokens, 4 * 32) << "of the model's positions";
}

TEST_F(Setup, CapacityHoldsTheFullestMicroBatch) {
  const auto source = open_small(counting_instances(20));
  std::vector<int32_t> lengths(source->lengths().begin(), source->lengths().end());
  std::sort(lengths.rbegin(), lengths.rend());
  EXPECT_EQ(capacity_of(*source, 1).tokens, lengths[0]);
  EXPECT_EQ(capacity_of(*source, 2).tokens, lengths[0] + lengths[1]);
  EXPECT_EQ(capacity_of(*source, 2).sequences, 2);
  EXPECT_EQ(capacity_of(*source, 1000).tokens, capacity_of(*source, 20).tokens);
  const bert::BatchCapacity both = larger({1, 5, 3}, {2, 4, 3});
  EXPECT_EQ(both.tokens, 2);
  EXPECT_EQ(both.sequences, 5);
  EXPECT_EQ(both.masked, 3);
}

TEST_F(Setup, WeightsComeFromTheCheckpointAndWhatItLacksIsTold) {
  const bert::ParameterLayout layout(small_bert());
  std::string told;
  const auto describe = [&](const std::string& line) { told += line + "\n"; };
  config::RunConfig config;
  EXPECT_EQ(make_weights(config, layout, 4, describe), bert::random_weights(layout, 4));
  EXPECT_TRUE(contains(told, "random")) << told;

  std::vector<bert::NamedTensor> tensors;
  const bert::HostWeights stored = bert::random_weights(layout, 5);
  for (const bert::Parameter& p : layout.all) {
    if (p.name == "cls/seq_relationship/output_bias") continue;
    tensors.push_back(
        {p.hugging_face,
         p.rows == 1 ? std::vector<int64_t>{p.cols} : std::vector<int64_t>{p.rows, p.cols},
         {stored.data() + p.offset, static_cast<size_t>(p.size())}});
  }
  const std::vector<float> one{1};
  tensors.push_back({"bert.embeddings.position_ids", {1}, one});
  config.model.checkpoint = directory_ / "model.safetensors";
  bert::write_safetensors(*config.model.checkpoint, tensors);
  EXPECT_EQ(make_weights(config, layout, 4, describe), stored);
  EXPECT_TRUE(contains(told, "cls/seq_relationship/output_bias")) << told;
  EXPECT_TRUE(contains(told, "no place for: bert.embeddings.position_ids")) << told;
}

TEST_F(Setup, PaddingOfProductsInFloat8MustBePossible) {
  config::RunConfig config;
  config.device.backend = &device::find_backend("cuda");
  config.model.precision = config::Precision::kFp8;
  config.batch.round_tokens = 64;
  bert::BertConfig model;
  model.max_positions = 48;
  EXPECT_EQ(model_options(config, model).rounding.tokens, 48);
  model.max_positions = 24;
  EXPECT_THROW(model_options(config, model), Error);
}

}  // namespace
}  // namespace strata::training
