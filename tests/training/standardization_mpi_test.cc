// Tests a standardization loss on several ranks and in every schedule.
#include <gtest/gtest.h>

#include "tests/training/small_training.h"

namespace strata::training {
namespace {

using Axis = config::StandardizationAxis;

constexpr uint64_t kSeed = 7;
constexpr int kGlobalBatch = 24, kSteps = 4;
// Rounding of a loss.
constexpr double kSame = 1e-5;

bert::BertConfig model() {
  bert::BertConfig config = small_bert(12);  // 2, 3, 4 and 6 stages divide these evenly
  config.hidden_size = config.intermediate_size = 32;
  config.heads = 1;
  config.norm = bert::Norm::kNone;
  config.hidden_dropout = config.attention_dropout = 0.1f;
  return config;
}

class StandardizationOverRanks : public testing::Test {
 protected:
  config::RunConfig run(Axis axis, int ranks, int accumulation) const {
    config::RunConfig config = small_run();
    config.model.norm = config::NormKind::kNone;
    config.standardization = {.weight = 1, .axis = axis};
    config.batch.micro_batch = kGlobalBatch / ranks / accumulation;
    config.batch.gradient_accumulation_steps = accumulation;
    return config;
  }
  TrainingHistory on(comm::Communicator& communicator, const config::RunConfig& config) const {
    const auto backend = make_backend(config, {communicator.rank(), communicator.size()});
    return train(config, *backend, communicator, *source_, kSeed, kSteps, nullptr, model());
  }
  // Returns the largest difference of any loss, including standardization, over all steps.
  static double largest_difference(const TrainingHistory& a, const TrainingHistory& b) {
    double largest = largest_loss_difference(a, b);
    for (size_t i = 0; i < a.steps.size(); ++i) {
      const auto &x = a.steps[i].losses->standardization, &y = b.steps[i].losses->standardization;
      EXPECT_EQ(x.count, y.count) << "not the same rows";
      EXPECT_GT(x.count, 0);
      largest = larger(largest, std::abs(x.mean() - y.mean()));
    }
    return largest;
  }

  std::unique_ptr<comm::Communicator> world_ = comm::make_mpi_communicator();
  std::unique_ptr<comm::Communicator> single_ = comm::make_single_communicator();
  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(96));
};

TEST_F(StandardizationOverRanks, OfTokensDoesNotDependOnTheMicroBatches) {
  const TrainingHistory single_rank = on(*single_, run(Axis::kToken, 1, 1));
  EXPECT_LE(largest_difference(on(*world_, run(Axis::kToken, world_->size(), 1)), single_rank),
            kSame);
  EXPECT_LE(largest_difference(on(*single_, run(Axis::kToken, 1, 6)), single_rank), kSame);
  config::RunConfig without = run(Axis::kToken, 1, 1);
  without.standardization.weight = 0;
  EXPECT_GT(largest_loss_difference(on(*single_, without), single_rank), 5 * kSame)
      << "the loss has changed nothing";
}

TEST_F(StandardizationOverRanks, OfUnitsIsComputedPerMicroBatch) {
  const TrainingHistory whole = on(*single_, run(Axis::kUnit, 1, 1));
  // The micro-batches are the same, whichever rank has them.
  const int ranks = world_->size();
  const TrainingHistory cut = on(*single_, run(Axis::kUnit, 1, ranks));
  EXPECT_LE(largest_difference(on(*world_, run(Axis::kUnit, ranks, 1)), cut), kSame);
  EXPECT_GT(largest_difference(cut, whole), 100 * kSame);
}

TEST_F(StandardizationOverRanks, EveryOrderOfWorkHasTheSameBits) {
  config::RunConfig config = run(Axis::kUnit, world_->size(), 2);
  const TrainingHistory expected = on(*world_, config);
  config.batch.accumulation_order = config::AccumulationOrder::kLayer;
  for (const auto sharded : {config::Sharding::kNone, config::Sharding::kAll}) {
    for (const auto activations :
         {config::ActivationPolicy::kKeep, config::ActivationPolicy::kRecompute}) {
      config.optimizer.sharded = sharded;
      config.batch.activations = activations;
      const TrainingHistory other = on(*world_, config);
      EXPECT_EQ(other.weights, expected.weights)
          << config::name_of(sharded) << ", " << config::name_of(activations);
      EXPECT_LE(largest_difference(other, expected), kSame);
    }
  }
}

TEST_F(StandardizationOverRanks, StagesHaveTheWholeModelsLoss) {
  const int accumulation = kGlobalBatch / 2;
  const TrainingHistory single_rank = on(*single_, run(Axis::kUnit, 1, accumulation));
  for (const auto pipeline : {config::PipelineKind::kContiguous, config::PipelineKind::kModular}) {
    config::RunConfig config = run(Axis::kUnit, 1, accumulation);
    config.parallel = {world_->size(), pipeline};
    EXPECT_LE(largest_difference(on(*world_, config), single_rank), kSame)
        << config::name_of(pipeline);
  }
}

}  // namespace
}  // namespace strata::training
