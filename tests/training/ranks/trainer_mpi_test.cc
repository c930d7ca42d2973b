#include <vector>

#include "tests/training/mlperf_reference_training.h"
#include "tests/training/ranks/trainer_over_ranks.h"
#include "training/trainer.h"

namespace strata::training {
namespace {

// Trainings whose update is a function of the global batch alone.
const auto kShared = testing::Values(
    Mode{config::ClipMode::kNone, 1, kRandom, kF32, kFp32},
    Mode{config::ClipMode::kNone, 1, kRandom, kBF16, kBf16},
    Mode{config::ClipMode::kNone, 1, kStratified, kF32, kFp32},
    Mode{config::ClipMode::kNone, 1, kExchange, kF32, kFp32},
    Mode{config::ClipMode::kNone, 1, kPresort, kF32, kFp32},
    Mode{config::ClipMode::kNone, 1, kPlanned, kF32, kFp32},
    Mode{config::ClipMode::kAfterAllReduce, kClips, kRandom, kF32, kFp32},
    Mode{config::ClipMode::kAfterAllReduce, kClips, kRandom, kBF16, kBf16},
    Mode{config::ClipMode::kAfterAllReduce, kClips, kStratified, kF32, kFp32},
    Mode{config::ClipMode::kBeforeAllReduce, kNeverClips, kRandom, kF32, kFp32},
    Mode{config::ClipMode::kBucketBeforeAllReduce, kNeverClips, kRandom, kF32, kFp32},
    Mode{config::ClipMode::kBucketBeforeAllReduce, kNeverClips, kStratified, kF32, kFp32},
    Mode{config::ClipMode::kNone, 1, kRandom, kF32, kFp32, kLamb},
    Mode{config::ClipMode::kAfterAllReduce, kClips, kStratified, kF32, kFp32, kLamb},
    Mode{config::ClipMode::kAfterAllReduce, kClips, kRandom, kF32, kFp32, kMadgrad},
    Mode{config::ClipMode::kAfterAllReduce, kClips, kRandom, kF32, kFp32, kAcClip},
    Mode{config::ClipMode::kAfterAllReduce, kClips, kRandom, kF32, kFp32, kSgd});
// Trainings in which each rank clips its own gradient, so that the number of ranks matters.
const auto kOwn = testing::Values(
    Mode{config::ClipMode::kBeforeAllReduce, kClips, kRandom, kF32},
    Mode{config::ClipMode::kBucketBeforeAllReduce, kClips, kStratified, kF32},
    Mode{config::ClipMode::kBucketBeforeAllReduce, kClips, kRandom, kBF16},
    Mode{config::ClipMode::kBucketBeforeAllReduce, kClips, kStratified, kF32, 0, kLamb});

class SharedUpdate : public TrainerOverRanks {};
INSTANTIATE_TEST_SUITE_P(Modes, SharedUpdate, kShared, name_of_mode);
INSTANTIATE_TEST_SUITE_P(SharedModes, TrainerOverRanks, kShared, name_of_mode);
INSTANTIATE_TEST_SUITE_P(OwnModes, TrainerOverRanks, kOwn, name_of_mode);

// Dropout depends on the sample, and not on the rank that computes it.
TEST_P(SharedUpdate, LossesMatchOneRankWithTheWholeBatch) {
  const TrainingHistory shared = on_all_ranks(), whole = on_a_single_rank(1),
                        accumulated = on_a_single_rank(2);
  const double difference = largest_loss_difference(shared, whole);
  EXPECT_LE(difference, GetParam().bound);
  EXPECT_LE(largest_loss_difference(accumulated, whole), 1e-4);
  if (world_->rank() == 0) RecordProperty("difference", fmt::format("{}", difference));
}

// Samples are short, so that the cost is almost proportional to the number of tokens.
TEST_P(TrainerOverRanks, AStepSaysHowUnevenItsPlanIs) {
  const TrainingHistory history = on_all_ranks();
  for (const StepResult& step : history.steps) {
    std::vector<float> most = {static_cast<float>(step.tokens)};
    std::vector<int64_t> sum = {step.tokens};
    world_->all_reduce_max(most);
    world_->all_reduce_sum(sum);
    const double mean = static_cast<double>(sum[0]) / world_->size();
    EXPECT_NEAR(step.imbalance, most[0] / mean, 0.005) << "step " << step.step;
    EXPECT_EQ(step.global_tokens, sum[0]) << "step " << step.step;
  }
}

// The two strategies draw the same global batches and divide them differently. Half of the data are
// in each stratum, so that `planned` draws the same samples for all ranks together as `stratified`
// draws for each rank.
TEST(TrainerAssignment, MakesNoDifferenceToTheLosses) {
  const auto world = comm::make_mpi_communicator();
  const auto source = open_small(counting_instances(kSamples));
  const std::pair<config::BalanceStrategy, config::BalanceStrategy> pairs[] = {
      {kRandom, kExchange}, {kStratified, kPresort}, {kStratified, kPlanned}};
  for (const auto& [drawn, assigned] : pairs) {
    const auto losses = [&](config::BalanceStrategy strategy) {
      const Mode mode{config::ClipMode::kAfterAllReduce, kClips, strategy, kF32};
      return train(run_of(mode, kGlobalBatch / world->size(), 1), *world, *source, 7, kSteps);
    };
    const TrainingHistory as_drawn = losses(drawn), as_assigned = losses(assigned);
    EXPECT_LE(largest_loss_difference(as_drawn, as_assigned), kFp32) << name_of(assigned);
    if (world->size() == 1) continue;
    std::vector<int64_t> tokens[2];
    for (int step = 0; step < kSteps; ++step) {
      tokens[0].push_back(as_drawn.steps[step].tokens);
      tokens[1].push_back(as_assigned.steps[step].tokens);
    }
    EXPECT_NE(tokens[0], tokens[1]) << name_of(assigned) << " assigns as " << name_of(drawn);
  }
}

// This includes devices that lag behind, which reduce gradients while other blocks run backward.
TEST_P(TrainerOverRanks, EveryOrderOfWorkHasTheSameBits) {
  for (const auto sharded : {kNone, kState}) {
    config::RunConfig config = run_of(GetParam(), kGlobalBatch / 2 / world_->size(), 2);
    config.optimizer.sharded = sharded;
    const auto cpu = make_backend(config);
    const TrainingHistory expected = train(config, *cpu, *world_, *source_, 7, 4);
    config.batch.accumulation_order = config::AccumulationOrder::kLayer;
    for (const auto activations :
         {config::ActivationPolicy::kKeep, config::ActivationPolicy::kRecompute}) {
      config.batch.activations = activations;
      EXPECT_EQ(train(config, *cpu, *world_, *source_, 7, 4).weights, expected.weights)
          << "sharded: " << name_of(sharded) << ", " << name_of(activations);
    }
    testing_support::DeferredBackend deferred(*cpu, static_cast<uint64_t>(world_->rank()));
    EXPECT_EQ(train(config, deferred, *world_, *source_, 7, 4).weights, expected.weights)
        << "sharded: " << name_of(sharded) << ", "
        << "behind the host";
  }
}

// The devices have no collectives, so buckets are reduced through the host.
TEST_P(TrainerOverRanks, DevicesThatLagBehindHoldTheWeightsOfHostMemory) {
  constexpr int kLaggingSteps = 12;  // enough for shapes to recur
  for (const auto sharded : {kNone, kState}) {
    config::RunConfig config = run_of(GetParam(), kGlobalBatch / world_->size(), 1);
    config.optimizer.sharded = sharded;
    config.batch.round_tokens = 32;
    const TrainingHistory in_host_memory = train(config, *world_, *source_, 7, kLaggingSteps);
    const auto cpu = make_backend(config);
    for (const bool graphs : {false, true}) {
      config.device.graphs = graphs;
      testing_support::DeferredBackend deferred(*cpu, static_cast<uint64_t>(world_->rank()));
      const TrainingHistory on_device =
          train(config, deferred, *world_, *source_, 7, kLaggingSteps);
      EXPECT_EQ(on_device.weights, in_host_memory.weights)
          << "sharded: " << name_of(sharded) << (graphs ? ", launched" : "");
      int64_t launches[] = {deferred.launches()};  // a rank may have no shape that recurs
      world_->all_reduce_sum(launches);
      EXPECT_EQ(launches[0] > 0, graphs);
    }
    config.initialization.warmup_steps = 2;
    config.target.max_steps = kLaggingSteps;
    config.data.shapes = write_small_shapes(*source_);
    testing_support::DeferredBackend prepared(*cpu, static_cast<uint64_t>(world_->rank()));
    EXPECT_EQ(train(config, prepared, *world_, *source_, 7, kLaggingSteps).weights,
              in_host_memory.weights)
        << "sharded: " << name_of(sharded) << ", recorded before the first step";
    EXPECT_EQ(prepared.launches(), kLaggingSteps);
  }
}

TEST_P(TrainerOverRanks, RanksHoldTheSameWeightsAndReportTheSameLosses) {
  const TrainingHistory mine = on_all_ranks(7, 6);
  bert::HostWeights first = mine.weights;
  world_->broadcast(first.data(), first.size() * sizeof(float), 0);
  EXPECT_EQ(first, mine.weights);
  for (const StepResult& step : mine.steps) {
    double loss = step.losses->mean_loss();
    world_->broadcast(&loss, sizeof loss, 0);
    EXPECT_EQ(loss, step.losses->mean_loss());
  }
}

TEST(TrainingOverRanks, FollowsMlperfsReference) {
  const auto cpu = make_backend(small_run());
  for (const auto sharded : {kNone, kState}) {
    expect_to_follow_mlperfs_reference(*cpu, *comm::make_mpi_communicator(), 12, sharded);
  }
}

// Every sample is evaluated once, by any rank.
TEST(EvaluatorOverRanks, HasTheLossesOfOneRank) {
  const auto world = comm::make_mpi_communicator(), single_rank = comm::make_single_communicator();
  const auto source = open_small(counting_instances(21));
  const auto cpu = make_backend(small_run());
  bert::Model model(small_bert(), *cpu, capacity_of(*source, 4));
  model.set_weights(bert::random_weights(model.layout(), 3));
  for (const int64_t samples : {0, 3}) {
    const bert::Losses shared = Evaluator(model, *source, samples, 4, *world).evaluate();
    const bert::Losses whole = Evaluator(model, *source, samples, 4, *single_rank).evaluate();
    EXPECT_EQ(shared.masked_lm.count, whole.masked_lm.count);
    EXPECT_EQ(shared.masked_lm.correct, whole.masked_lm.correct);
    EXPECT_EQ(shared.next_sentence.count, whole.next_sentence.count);
    EXPECT_NEAR(shared.mean_loss(), whole.mean_loss(), 1e-5);
  }
}

TEST_P(TrainerOverRanks, TheSameSeedGivesTheSameBits) {
  const TrainingHistory first = on_all_ranks(7, 6), second = on_all_ranks(7, 6);
  EXPECT_EQ(largest_loss_difference(first, second), 0);
  EXPECT_EQ(first.weights, second.weights);
  EXPECT_NE(first.weights, on_all_ranks(8, 6).weights);
}

}  // namespace
}  // namespace strata::training
