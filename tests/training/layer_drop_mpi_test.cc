// Tests dropped layers on several ranks and in every schedule.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/training/small_training.h"

namespace strata::training {
namespace {

constexpr uint64_t kSeed = 7;
constexpr int kGlobalBatch = 24, kSteps = 4;
// Rounding of a loss. Other dropped layers would change it by more than ten times as much.
constexpr double kSame = 1e-5;

bert::BertConfig model() {
  bert::BertConfig config = small_bert(12);  // 2, 3, 4 and 6 stages divide these evenly
  config.hidden_size = config.intermediate_size = 32;
  config.heads = 1;
  config.norm = bert::Norm::kPre;
  config.hidden_dropout = config.attention_dropout = 0.1f;
  return config;
}

class LayerDropOverRanks : public testing::Test {
 protected:
  // Three in four of the deep layers are dropped from the second step on.
  config::RunConfig run(int ranks, int accumulation) const {
    config::RunConfig config = small_run();
    config.model.norm = config::NormKind::kPre;
    config.layer_drop = {.theta = 0.25, .gamma = 1e9};
    config.clip = {config::ClipMode::kNone, 1};
    config.batch.load_balance.strategy = config::BalanceStrategy::kRandom;
    config.batch.micro_batch = kGlobalBatch / ranks / accumulation;
    config.batch.gradient_accumulation_steps = accumulation;
    return config;
  }
  TrainingHistory on(comm::Communicator& communicator, const config::RunConfig& config) const {
    const auto backend = make_backend(config, {communicator.rank(), communicator.size()});
    return train(config, *backend, communicator, *source_, kSeed, kSteps, nullptr, model());
  }

  std::unique_ptr<comm::Communicator> world_ = comm::make_mpi_communicator();
  std::unique_ptr<comm::Communicator> single_ = comm::make_single_communicator();
  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(96));
};

TEST_F(LayerDropOverRanks, AllRanksLeaveOutTheSameLayers) {
  const TrainingHistory single_rank = on(*single_, run(1, 1)),
                        shared = on(*world_, run(world_->size(), 1));
  EXPECT_LE(largest_loss_difference(shared, single_rank), kSame);
  size_t dropped = 0;
  for (size_t i = 0; i < single_rank.steps.size(); ++i) {
    ASSERT_TRUE(single_rank.steps[i].dropped_layers);
    EXPECT_EQ(shared.steps[i].dropped_layers, single_rank.steps[i].dropped_layers);
    dropped += single_rank.steps[i].dropped_layers->size();
  }
  EXPECT_GT(dropped, single_rank.steps.size()) << "of 12 layers, about 4.5 a step";
  config::RunConfig all_layers = run(1, 1);
  all_layers.layer_drop = {};
  EXPECT_GT(largest_loss_difference(on(*single_, all_layers), single_rank), 10 * kSame);
}

TEST_F(LayerDropOverRanks, EveryOrderOfWorkHasTheSameBits) {
  config::RunConfig config = run(world_->size(), 2);
  const bert::HostWeights expected = on(*world_, config).weights;
  config.batch.accumulation_order = config::AccumulationOrder::kLayer;
  for (const auto sharded : {config::Sharding::kNone, config::Sharding::kState,
                             config::Sharding::kGradients, config::Sharding::kAll}) {
    for (const auto activations :
         {config::ActivationPolicy::kKeep, config::ActivationPolicy::kRecompute}) {
      config.optimizer.sharded = sharded;
      config.batch.activations = activations;
      EXPECT_EQ(on(*world_, config).weights, expected)
          << config::name_of(sharded) << ", " << config::name_of(activations);
    }
  }
}

TEST_F(LayerDropOverRanks, StagesLeaveOutWhatTheWholeModelDoes) {
  const int stages = world_->size();
  const TrainingHistory single_rank = on(*single_, run(1, 1));
  for (const auto pipeline : {config::PipelineKind::kContiguous, config::PipelineKind::kModular}) {
    config::RunConfig config = run(1, kGlobalBatch / 2);
    config.parallel = {stages, pipeline};
    EXPECT_LE(largest_loss_difference(on(*world_, config), single_rank), kSame)
        << config::name_of(pipeline);
  }
}

}  // namespace
}  // namespace strata::training
