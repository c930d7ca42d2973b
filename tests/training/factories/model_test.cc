#include "training/factories/model.h"

#include <algorithm>

#include "base/error.h"
#include "device/registry/backends.h"
#include "tests/training/small_training.h"

namespace strata::training {
namespace {

TEST(ModelFactory, TheConfigurationOverridesTheModelsDropout) {
  config::RunConfig config;
  config.model.config = "tiny";
  EXPECT_FLOAT_EQ(make_bert_config(config).hidden_dropout, 0.1f);
  config.model.hidden_dropout = 0.0;
  config.model.attention_dropout = 0.3;
  EXPECT_FLOAT_EQ(make_bert_config(config).hidden_dropout, 0.0f);
  EXPECT_FLOAT_EQ(make_bert_config(config).attention_dropout, 0.3f);
}

// The default of gamma is 100 / T, as in the paper, so that theta is almost reached at the end.
TEST(ModelFactory, LayersAreDroppedFasterTheShorterTheTrainingIs) {
  config::RunConfig config = small_run();
  config.layer_drop.theta = 0.5;
  config.lr_schedule.training_steps = 250;
  EXPECT_DOUBLE_EQ(model_options(config, small_bert()).layer_drop.gamma, 0.4);
  config.layer_drop.gamma = 0.01;
  EXPECT_EQ(model_options(config, small_bert()).layer_drop.gamma, 0.01);
}

TEST(ModelFactory, CapacityHoldsTheLargestSamplesThatAreAllowed) {
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

TEST(ModelFactory, CapacityHoldsTheFullestMicroBatch) {
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

TEST(ModelFactory, PaddingForFloat8MustBePossible) {
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
