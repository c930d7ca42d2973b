#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files/files.h"
#include "device/cpu/gemm/matmul.h"
#include "tests/support/deferred_backend.h"
#include "tests/training/counting_device.h"
#include "tests/training/mlperf_reference_training.h"
#include "tests/training/small_training.h"
#include "training/bert_system.h"
#include "training/trainer.h"

namespace strata::training {
namespace {

constexpr int kSteps = 20, kSamples = 48, kGlobalBatch = 16;

struct Mode {
  config::ClipMode clip;
  double max_norm;
  config::BalanceStrategy strategy;
  config::ReduceDType reduce;
  // Of a loss's difference from one rank with the whole batch, over all steps.
  double bound = 0;
  config::OptimizerKind optimizer = config::OptimizerKind::kAdam;
};

config::RunConfig run_of(const Mode& mode, int micro_batch, int accumulation) {
  config::RunConfig config = small_run();
  config.clip = {mode.clip, mode.max_norm};
  config.optimizer.name = mode.optimizer;
  config.reduce.dtype = mode.reduce;
  config.batch.load_balance.strategy = mode.strategy;
  config.batch.micro_batch = micro_batch;
  config.batch.gradient_accumulation_steps = accumulation;
  return config;
}

class TrainerOverRanks : public testing::TestWithParam<Mode> {
 protected:
  TrainingHistory on_all_ranks(uint64_t seed = 7, int steps = kSteps) {
    return train(run_of(GetParam(), kGlobalBatch / world_->size(), 1), *world_, *source_, seed,
                 steps);
  }
  // `accumulation` micro-batches, without any other rank.
  TrainingHistory alone(int accumulation) {
    return train(run_of(GetParam(), kGlobalBatch / accumulation, accumulation), *single_, *source_,
                 7, kSteps);
  }

  std::unique_ptr<comm::Communicator> world_ = comm::make_mpi_communicator();
  std::unique_ptr<comm::Communicator> single_ = comm::make_single_communicator();
  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(kSamples));
};

constexpr double kNeverClips = 1e6, kClips = 0.3;
// Gradients that travel in bf16 are off by up to 2^-9 of themselves.
constexpr double kFp32 = 1e-4, kBf16 = 1e-3;
constexpr auto kRandom = config::BalanceStrategy::kRandom,
               kExchange = config::BalanceStrategy::kExchange,
               kStratified = config::BalanceStrategy::kStratified,
               kPresort = config::BalanceStrategy::kStratifiedPresort,
               kPlanned = config::BalanceStrategy::kPlanned;
constexpr auto kLamb = config::OptimizerKind::kLamb, kMadgrad = config::OptimizerKind::kMadgrad,
               kAcClip = config::OptimizerKind::kAcClip, kSgd = config::OptimizerKind::kSgd;
constexpr auto kNone = config::Sharding::kNone, kState = config::Sharding::kState,
               kGradients = config::Sharding::kGradients, kAll = config::Sharding::kAll;
constexpr auto kF32 = config::ReduceDType::kFp32, kBF16 = config::ReduceDType::kBf16;

std::string name_of_mode(const testing::TestParamInfo<Mode>& test) {
  const Mode& mode = test.param;
  std::string strategy = name_of(mode.strategy);
  std::replace(strategy.begin(), strategy.end(), '+', '_');
  return fmt::format("{}_{}_{}_{}_{}", name_of(mode.optimizer), config::name_of(mode.clip),
                     mode.max_norm == kNeverClips ? "loose" : "tight", strategy,
                     name_of(mode.reduce));
}

// Where an update is a function of the global batch alone.
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
// Where each rank clips its own gradient, so that the number of ranks matters.
const auto kOwn = testing::Values(
    Mode{config::ClipMode::kBeforeAllReduce, kClips, kRandom, kF32},
    Mode{config::ClipMode::kBucketBeforeAllReduce, kClips, kStratified, kF32},
    Mode{config::ClipMode::kBucketBeforeAllReduce, kClips, kRandom, kBF16},
    Mode{config::ClipMode::kBucketBeforeAllReduce, kClips, kStratified, kF32, 0, kLamb});

class SharedUpdate : public TrainerOverRanks {};
INSTANTIATE_TEST_SUITE_P(Modes, SharedUpdate, kShared, name_of_mode);
INSTANTIATE_TEST_SUITE_P(SharedModes, TrainerOverRanks, kShared, name_of_mode);
INSTANTIATE_TEST_SUITE_P(OwnModes, TrainerOverRanks, kOwn, name_of_mode);

// Dropout is keyed by sample, so where a sample is computed makes no difference.
TEST_P(SharedUpdate, LossesAreThoseOfOneRankWithTheWholeBatch) {
  const TrainingHistory shared = on_all_ranks(), whole = alone(1), accumulated = alone(2);
  const double difference = largest_loss_difference(shared, whole);
  EXPECT_LE(difference, GetParam().bound);
  EXPECT_LE(largest_loss_difference(accumulated, whole), 1e-4);
  if (world_->rank() == 0) RecordProperty("difference", fmt::format("{}", difference));
}

// Samples are short, so that a cost is all but a number of tokens.
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

// Two strategies that draw the same global batches and divide them differently. Half of the data
// are in each stratum, so that what `planned` draws for all ranks is what `stratified` draws for
// each.
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

// Also where devices lag behind, so that gradients are reduced while other blocks go back.
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

// More buckets, begun earlier. Norms are summed by bucket, so their last bits may differ where they
// clip.
TEST_P(TrainerOverRanks, HalvesOfLayersTrainTheSame) {
  const bool clips = GetParam().clip != config::ClipMode::kNone;
  if (GetParam().clip == config::ClipMode::kBucketBeforeAllReduce) {
    GTEST_SKIP() << "other buckets are clipped otherwise";
  }
  struct Case {
    config::AccumulationOrder order;
    config::NormKind norm;
    double theta = 1;  // of layers that are dropped
  };
  using Order = config::AccumulationOrder;
  for (const auto& [order, norm, theta] : {Case{Order::kMicroBatch, config::NormKind::kPost},
                                           Case{Order::kLayer, config::NormKind::kPost},
                                           Case{Order::kMicroBatch, config::NormKind::kPre},
                                           Case{Order::kMicroBatch, config::NormKind::kPre, 0.5}}) {
    config::RunConfig config = run_of(GetParam(), kGlobalBatch / 2 / world_->size(), 2);
    config.batch.accumulation_order = order;
    bert::BertConfig bert = small_bert();
    bert.norm = config.model.norm = norm;
    if (theta < 1) config.layer_drop = {.theta = theta, .gamma = 10};
    config.reduce.bucket_megabytes = 0.02;
    const auto cpu = make_backend(config);
    const auto history = [&](device::Backend& backend) {
      return train(config, backend, *world_, *source_, 7, 4, nullptr, bert);
    };
    const TrainingHistory whole = history(*cpu);
    config.reduce.half_layers = true;
    const TrainingHistory halves = history(*cpu);
    testing_support::DeferredBackend deferred(*cpu, static_cast<uint64_t>(world_->rank()));
    EXPECT_EQ(history(deferred).weights, halves.weights) << "behind the host";
    if (clips) {
      EXPECT_LE(largest_loss_difference(halves, whole), GetParam().bound);
    } else {
      EXPECT_EQ(halves.weights, whole.weights);
    }
  }
}

// Two ranks' gradients are added up once, which rounds once, too.
TEST(TrainerSums, InBf16AreThoseInFp32OfTwoRanksAlone) {
  const auto world = comm::make_mpi_communicator();
  const auto source = open_small(counting_instances(kSamples));
  for (const auto sharded : {kNone, kState}) {
    const auto weights = [&](config::ReduceAccumulation accumulate, int chunk) {
      config::RunConfig config = run_of({config::ClipMode::kAfterAllReduce, kClips, kRandom, kBF16},
                                        kGlobalBatch / world->size(), 1);
      config.optimizer.sharded = sharded;
      config.reduce.accumulate = accumulate;
      config.reduce.chunk = chunk;
      return train(config, *world, *source, 7, 4).weights;
    };
    using Kind = config::ReduceAccumulation;
    const auto once = weights(Kind::kFp32, 4), row = weights(Kind::kBf16, 4);
    EXPECT_EQ(once == row, world->size() <= 2);
    EXPECT_EQ(weights(Kind::kBf16Chunked, world->size() + 1), row);
    EXPECT_EQ(weights(Kind::kBf16Chunked, 2) == row, world->size() <= 3);
  }
}

// The head's part of the words' gradient first, the input's part last: sums in another order.
class EarlyWords : public TrainerOverRanks {};
INSTANTIATE_TEST_SUITE_P(
    Modes, EarlyWords,
    testing::Values(Mode{config::ClipMode::kNone, 1, kRandom, kF32, kFp32},
                    Mode{config::ClipMode::kNone, 1, kRandom, kBF16, kBf16},
                    Mode{config::ClipMode::kAfterAllReduce, kClips, kStratified, kF32, kFp32},
                    Mode{config::ClipMode::kAfterAllReduce, kClips, kRandom, kF32, kFp32, kLamb}),
    name_of_mode);
TEST_P(EarlyWords, TrainTheSame) {
  const TrainingHistory whole = alone(1);
  config::RunConfig config = run_of(GetParam(), kGlobalBatch / 2 / world_->size(), 2);
  config.reduce.early_words = true;
  const TrainingHistory early = train(config, *world_, *source_, 7, kSteps);
  EXPECT_LE(largest_loss_difference(early, whole), GetParam().bound);
  config.batch.accumulation_order = config::AccumulationOrder::kLayer;
  EXPECT_EQ(train(config, *world_, *source_, 7, kSteps).weights, early.weights);
}

// Layers take turns in memory: there are more of them than it is for.
TEST_P(TrainerOverRanks, ShardedGradientsGiveTheSameWeights) {
  constexpr int kTurns = 2;
  if (GetParam().clip == config::ClipMode::kBeforeAllReduce) GTEST_SKIP() << "is refused";
  const auto trained = [&](const config::RunConfig& config, device::Backend& backend) {
    return train(config, backend, *world_, *source_, 7, kTurns, nullptr, small_bert(5));
  };
  for (const int accumulation : {1, 2}) {
    config::RunConfig config =
        run_of(GetParam(), kGlobalBatch / accumulation / world_->size(), accumulation);
    config.reduce.bucket_megabytes = 0.02;
    // LAMB's norms are summed over ranks.
    config.optimizer.sharded = GetParam().optimizer == kLamb ? kState : kNone;
    const auto cpu = make_backend(config);
    const TrainingHistory expected = trained(config, *cpu);
    const auto expect_the_same = [&](const char* order) {
      testing_support::DeferredBackend deferred(*cpu, static_cast<uint64_t>(world_->rank()));
      for (const auto sharded : {kGradients, kAll}) {
        config.optimizer.sharded = sharded;
        for (device::Backend* backend : {cpu.get(), static_cast<device::Backend*>(&deferred)}) {
          const TrainingHistory history = trained(config, *backend);
          EXPECT_EQ(history.weights, expected.weights)
              << name_of(sharded) << " in " << order << " of " << accumulation;
          EXPECT_EQ(history.evaluation.mean_loss(), expected.evaluation.mean_loss());
        }
      }
    };
    if (accumulation == 1) expect_the_same("micro-batch order");
    config.batch.accumulation_order = config::AccumulationOrder::kLayer;
    expect_the_same("layer order");
    config.batch.activations = config::ActivationPolicy::kRecompute;
    expect_the_same("layer order, recomputed,");
  }
}

// Every micro-batch's gradients are reduced, so sums round in another order.
TEST_P(TrainerOverRanks, ShardedGradientsOfEveryMicroBatchAddUp) {
  if (GetParam().clip == config::ClipMode::kBeforeAllReduce ||
      GetParam().clip == config::ClipMode::kBucketBeforeAllReduce) {
    GTEST_SKIP() << "is refused";
  }
  config::RunConfig config = run_of(GetParam(), kGlobalBatch / 2 / world_->size(), 2);
  config.reduce.bucket_megabytes = 0.02;
  const auto trained = [&](device::Backend& backend) {
    return train(config, backend, *world_, *source_, 7, 4, nullptr, small_bert(5));
  };
  const auto cpu = make_backend(config);
  const TrainingHistory whole = trained(*cpu);
  config.optimizer.sharded = kGradients;
  const TrainingHistory sharded = trained(*cpu);
  EXPECT_LE(largest_loss_difference(sharded, whole), std::max(GetParam().bound, kFp32));
  testing_support::DeferredBackend deferred(*cpu, static_cast<uint64_t>(world_->rank()));
  EXPECT_EQ(trained(deferred).weights, sharded.weights) << "behind the host";
  config.optimizer.sharded = kAll;
  EXPECT_EQ(trained(*cpu).weights, sharded.weights);
  EXPECT_EQ(trained(deferred).weights, sharded.weights) << "behind the host";
}

// So many layers, each a unit.
constexpr int kDeepLayers = 5;

// With gaps between the parameters of a layer.
bert::BertConfig deep_bert() {
  bert::BertConfig bert = small_bert(kDeepLayers);
  bert.intermediate_size = 72;
  return bert;
}

config::RunConfig run_in_units(config::Sharding sharded, int micro_batch, int accumulation,
                               config::Precision precision, config::ReduceDType reduce) {
  config::RunConfig config =
      run_of({config::ClipMode::kNone, 1, kRandom, reduce}, micro_batch, accumulation);
  config.model.precision = precision;
  config.reduce.bucket_megabytes = reduce == kF32 ? 0.02 : 0.01;  // 5000 elements
  config.log.loss_interval_steps = 1000;
  config.optimizer.sharded = sharded;
  return config;
}

// Elements of every block.
struct BlockSizes {
  explicit BlockSizes(const bert::ParameterLayout& layout)
      : embeddings(layout.group("embeddings").size()),
        layer(layout.group("layer_1").size()),
        heads(layout.group("heads").size()),
        all(layout.size),
        words(layout.word_embeddings.size()) {}
  int64_t embeddings, layer, heads, all, words;
};

struct ShardedRun {
  config::Sharding sharded;
  int accumulation;
  bool layer_order;
  config::Precision precision;
  config::ReduceDType reduce;
};

class ShardingOverRanks : public testing::TestWithParam<ShardedRun> {
 protected:
  ShardingOverRanks() {
    const ShardedRun& run = GetParam();
    config_ = run_in_units(run.sharded, kGlobalBatch / run.accumulation / world_->size(),
                           run.accumulation, run.precision, run.reduce);
    if (run.layer_order) config_.batch.accumulation_order = config::AccumulationOrder::kLayer;
    cpu_ = make_backend(config_);
    model_.emplace(deep_bert(), *cpu_, capacity_of(*source_, config_.batch.micro_batch),
                   model_options(config_, deep_bert(), *world_));
    model_->set_weights(bert::random_weights(model_->layout(), 7));
    trainer_.emplace(config_, *cpu_, *model_, *world_, 7);
  }

  std::unique_ptr<comm::Communicator> world_ = comm::make_mpi_communicator();
  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(kSamples));
  config::RunConfig config_;
  std::unique_ptr<device::Backend> cpu_;
  std::optional<bert::Model> model_;
  std::optional<Trainer> trainer_;
};

std::vector<ShardedRun> sharded_runs() {
  std::vector<ShardedRun> runs;
  for (const auto sharded : {kNone, kState, kGradients, kAll}) {
    for (const auto& [accumulation, layer_order] :
         {std::pair(1, false), std::pair(3, false), std::pair(3, true)}) {
      runs.push_back({sharded, accumulation, layer_order, config::Precision::kFp32, kF32});
      runs.push_back({sharded, accumulation, layer_order, config::Precision::kBf16, kBF16});
    }
    runs.push_back({sharded, 3, true, config::Precision::kBf16, kF32});
  }
  return runs;
}

INSTANTIATE_TEST_SUITE_P(Runs, ShardingOverRanks, testing::ValuesIn(sharded_runs()),
                         [](const auto& test) {
                           const ShardedRun& run = test.param;
                           return fmt::format("{}_{}_{}_{}_reduced_in_{}", name_of(run.sharded),
                                              run.layer_order ? "layers" : "micro_batches",
                                              run.accumulation, name_of(run.precision),
                                              name_of(run.reduce));
                         });

// (r - 1) / r of the parameters in each exchange: a sum, and in `all` two gathers, but for what
// stays in memory.
TEST_P(ShardingOverRanks, SendsTheBytesOfTheFormula) {
  const ShardedRun& run = GetParam();
  trainer_->start(*source_);
  trainer_->step();
  const int64_t before = world_->traffic()->bytes();
  trainer_->step();
  const int64_t sent = world_->traffic()->bytes() - before;

  const BlockSizes sizes(model_->layout());
  const int64_t weight = run.precision == config::Precision::kBf16 ? 2 : 4;
  const int64_t gradient = run.reduce == kBF16 ? 2 : 4;
  const int64_t rounds = run.layer_order ? 1 : run.accumulation;
  int64_t bytes = 0;
  switch (run.sharded) {
    case kNone:
      bytes = 2 * sizes.all * gradient;
      break;
    case kState:
      bytes = sizes.all * (gradient + weight);
      break;
    case kGradients:
      bytes = sizes.all * (rounds * gradient + weight);
      break;
    case kAll: {
      const int64_t layers = kDeepLayers + (kDeepLayers - 2) * (2 * rounds - 1);
      const int64_t gathered = sizes.embeddings + sizes.heads + layers * sizes.layer;
      bytes = sizes.all * rounds * gradient + gathered * weight;
      // The published two gathers and one sum of everything are an upper bound.
      EXPECT_LE(bytes, rounds * sizes.all * (2 * weight + gradient));
      break;
    }
  }
  EXPECT_EQ(sent, bytes * (world_->size() - 1) / world_->size());
}

TEST_P(ShardingOverRanks, TakesTheMemoryOfTheFormula) {
  const ShardedRun& run = GetParam();
  const BlockSizes sizes(model_->layout());
  const int64_t ranks = world_->size();
  const bool bf16 = run.precision == config::Precision::kBf16, alone = ranks == 1;
  const int64_t whole = sizes.all, shard = whole / ranks;
  const int64_t turns = 2 * sizes.layer + sizes.embeddings + sizes.heads;
  const auto shares = [&](config::Sharding what) { return run.sharded >= what && !alone; };
  const int64_t kept = 4 + (bf16 ? 2 : 0);
  const ParameterMemory memory = trainer_->parameter_memory();
  EXPECT_EQ(memory.weights, shares(kAll) ? kept * shard + (bf16 ? 2 : 4) * turns : kept * whole);
  const bool sums_first = run.accumulation > 1 && (run.layer_order || !shares(kGradients));
  EXPECT_EQ(memory.gradients, (shares(kGradients) ? 4 * shard + 4 * turns : 4 * whole) +
                                  (sums_first ? 4 * sizes.words : 0));
  EXPECT_EQ(memory.state, 8 * (shares(kState) ? shard : whole));
}

TEST_P(ShardingOverRanks, StepsTakeNoMemory) {
  CountingDevice device(*cpu_, static_cast<uint64_t>(world_->rank()));
  bert::Model model(deep_bert(), device, capacity_of(*source_, config_.batch.micro_batch),
                    model_options(config_, deep_bert(), *world_));
  model.set_weights(bert::random_weights(model.layout(), 7));
  Trainer trainer(config_, device, model, *world_, 7);
  trainer.start(*source_);
  const int before = device.allocations;
  EXPECT_GT(before, 0);
  for (int step = 0; step < 2; ++step) trainer.step();
  EXPECT_EQ(device.allocations, before);
}

// Weights, gradients and both together take turns in memory; activations and sums are in bf16.
TEST_P(ShardingOverRanks, HasTheWeightsOfUnshardedState) {
  const ShardedRun& run = GetParam();
  const auto trained = [&](const config::RunConfig& config) {
    return train(config, *cpu_, *world_, *source_, 7, 3, nullptr, deep_bert());
  };
  config::RunConfig unsharded = config_;
  unsharded.optimizer.sharded = kNone;
  for (config::RunConfig* config : {&config_, &unsharded}) config->log.loss_interval_steps = 1;
  const TrainingHistory expected = trained(unsharded), sharded = trained(config_);
  const bool every_micro_batch =
      run.sharded >= kGradients && run.accumulation > 1 && !run.layer_order && world_->size() > 1;
  if (every_micro_batch) {  // sums round in another order
    EXPECT_LE(largest_loss_difference(sharded, expected), kBf16);
  } else {
    EXPECT_EQ(sharded.weights, expected.weights);
    EXPECT_EQ(largest_loss_difference(sharded, expected), 0);
  }
}

// Without collectives of the device's own: buckets are reduced through the host.
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

// FP8 scales come from the largest values of all ranks.
class TrainerInFloat8 : public testing::Test {
 protected:
  config::RunConfig config(int micro_batch) const {
    config::RunConfig config =
        run_of({config::ClipMode::kNone, 1, kStratified, kF32}, micro_batch, 1);
    config.model.precision = config::Precision::kFp8;
    return config;
  }

  std::unique_ptr<comm::Communicator> world_ = comm::make_mpi_communicator();
  std::unique_ptr<comm::Communicator> single_ = comm::make_single_communicator();
  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(kSamples));
};

TEST_F(TrainerInFloat8, RanksAgreeOnTheLargestValues) {
  const config::RunConfig config = this->config(kGlobalBatch / world_->size());
  const auto cpu = make_backend(config);
  testing_support::DeferredBackend deferred(*cpu, static_cast<uint64_t>(world_->rank()));
  for (device::Backend* backend : {cpu.get(), static_cast<device::Backend*>(&deferred)}) {
    bert::Model model(small_bert(), *backend, capacity_of(*source_, config.batch.micro_batch),
                      model_options(config, small_bert()));
    model.set_weights(bert::random_weights(model.layout(), 7));
    Trainer trainer(config, *backend, model, *world_, 7);
    trainer.start(*source_);
    std::vector<std::vector<float>> steps;
    for (int step = 0; step < 3; ++step) {
      trainer.step();
      const device::Tensor largest = model.float8_amax();
      std::vector<float> mine(static_cast<size_t>(largest.size()));
      backend->copy_to_host(device::Stream::kCompute, mine.data(), largest.data, largest.bytes());
      backend->synchronize(device::Stream::kCompute);
      std::vector<float> of_first = mine;
      world_->broadcast(of_first.data(), of_first.size() * sizeof(float), 0);
      EXPECT_EQ(mine, of_first);
      EXPECT_GT(*std::min_element(mine.begin(), mine.end()), 0.0f) << "of every operand";
      steps.push_back(mine);
    }
    EXPECT_NE(steps[0], steps[1]);
  }
}

// Gradients that ranks add up differ in their last bits, and weights after a few updates. Then FP8
// rounds some numbers to a neighbour, a sixteenth of themselves away: how far that carries losses
// is seen in runs whose updates differ by about as little.
TEST_F(TrainerInFloat8, LossesAreThoseOfOneRankWithTheWholeBatch) {
  const TrainingHistory whole = train(config(kGlobalBatch), *single_, *source_, 7, kSteps);
  double rounding = 0;
  for (const int of_ten_millionth : {-8, -4, -2, -1, 1, 2, 4, 8}) {
    config::RunConfig other = config(kGlobalBatch);
    other.optimizer.lr *= 1 + 1e-7 * of_ten_millionth;
    rounding = std::max(
        rounding, largest_loss_difference(train(other, *single_, *source_, 7, kSteps), whole));
  }
  const config::RunConfig shared = config(kGlobalBatch / world_->size());
  EXPECT_LE(largest_loss_difference(train(shared, *world_, *source_, 7, kSteps), whole),
            2 * rounding);

  // Before that, only scales could differ; where ranks do not agree on them, by 1e-6 and more.
  constexpr int kBeforeRounding = 2;
  EXPECT_LE(
      largest_loss_difference(train(shared, *world_, *source_, 7, kBeforeRounding),
                              train(config(kGlobalBatch), *single_, *source_, 7, kBeforeRounding)),
      1e-12);
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

// Every sample once, whichever rank evaluates it.
TEST(EvaluatorOverRanks, EvaluatesWhatOneRankEvaluates) {
  const auto world = comm::make_mpi_communicator(), alone = comm::make_single_communicator();
  const auto source = open_small(counting_instances(21));
  const auto cpu = make_backend(small_run());
  bert::Model model(small_bert(), *cpu, capacity_of(*source, 4));
  model.set_weights(bert::random_weights(model.layout(), 3));
  for (const int64_t samples : {0, 3}) {
    const bert::Losses shared = Evaluator(model, *source, samples, 4, *world).evaluate();
    const bert::Losses whole = Evaluator(model, *source, samples, 4, *alone).evaluate();
    EXPECT_EQ(shared.masked_lm.count, whole.masked_lm.count);
    EXPECT_EQ(shared.masked_lm.correct, whole.masked_lm.correct);
    EXPECT_EQ(shared.next_sentence.count, whole.next_sentence.count);
    EXPECT_NEAR(shared.mean_loss(), whole.mean_loss(), 1e-5);
  }
}

// The optimizer's state in shares: the same weights from a share of the work. Of LAMB, ranks add
// up the norms of tensors, which one rank adds up alone: the last bits may differ.
TEST_P(TrainerOverRanks, ShardedStateGivesTheSameWeights) {
  const bool is_lamb = GetParam().optimizer == kLamb;
  for (const config::Precision precision : {config::Precision::kFp32, config::Precision::kBf16}) {
    config::RunConfig config = run_of(GetParam(), kGlobalBatch / world_->size(), 1);
    config.model.precision = precision;
    if (precision == config::Precision::kBf16 && device::cpu::bf16_unavailable_reason()[0])
      continue;
    const TrainingHistory whole = train(config, *world_, *source_, 7, 6);
    config.optimizer.sharded = kState;
    const TrainingHistory sharded = train(config, *world_, *source_, 7, 6);
    double difference = 0, largest = 0;
    for (size_t i = 0; i < whole.weights.size(); ++i) {
      ASSERT_TRUE(std::isfinite(whole.weights[i]) && std::isfinite(sharded.weights[i])) << i;
      difference = larger(difference, std::abs(whole.weights[i] - sharded.weights[i]));
      largest = larger(largest, std::abs(whole.weights[i]));
    }
    const double bound = !is_lamb ? 0 : precision == config::Precision::kFp32 ? 1e-5 : 1e-3;
    EXPECT_LE(largest_loss_difference(whole, sharded), bound) << name_of(precision);
    EXPECT_LE(difference, bound * largest) << name_of(precision);
    EXPECT_NEAR(whole.evaluation.mean_loss(), sharded.evaluation.mean_loss(), bound);
  }
}

// A checkpoint has the weights of all shards.
TEST(BertSystemOverRanks, SavesWhatAllRanksTrained) {
  const auto world = comm::make_mpi_communicator();
  const Ranks ranks{*world, {world->rank(), world->size()}};
  // All ranks are children of one process.
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / fmt::format("strata.save.{}", ::getppid());
  config::RunConfig config = small_run();
  config.model.config = folder / "model.json";
  config.data.train = config.data.eval = {folder / "data.hdf5"};
  config.batch.micro_batch = kGlobalBatch / world->size();
  if (ranks.first()) {
    std::filesystem::create_directories(folder);
    write_small_model(config.model.config);
    write_small_data(config.data.train[0], counting_instances(kSamples));
  }
  const auto saved = [&](config::Sharding sharded) {
    config.optimizer.sharded = sharded;
    const std::filesystem::path file = folder / name_of(sharded);
    world->barrier();
    BertSystem system(config, ranks);
    system.prepare(7, {.checkpoint = file}, [](const std::string&) {});
    system.start();
    for (int step = 0; step < 3; ++step) system.train_step();
    system.save();
    world->barrier();
    return read_file(file);
  };
  const std::string whole = saved(kNone);
  for (const auto sharded : {kState, kGradients, kAll}) {
    EXPECT_TRUE(saved(sharded) == whole) << name_of(sharded) << ": the files differ";
  }
  world->barrier();
  if (ranks.first()) std::filesystem::remove_all(folder);
}

TEST_P(TrainerOverRanks, TheSameSeedGivesTheSameBits) {
  const TrainingHistory first = on_all_ranks(7, 6), second = on_all_ranks(7, 6);
  EXPECT_EQ(largest_loss_difference(first, second), 0);
  EXPECT_EQ(first.weights, second.weights);
  EXPECT_NE(first.weights, on_all_ranks(8, 6).weights);
}

}  // namespace
}  // namespace strata::training
