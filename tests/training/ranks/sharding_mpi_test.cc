// Optimizer state, gradients and weights in shards.
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/files/files.h"
#include "tests/training/counting_device.h"
#include "tests/training/ranks/trainer_over_ranks.h"
#include "training/bert_system.h"

namespace strata::training {
namespace {

// Number of layers. Each layer is a gather group.
constexpr int kDeepLayers = 5;

// A model with gaps between the parameters of a layer.
bert::BertConfig deep_bert() {
  bert::BertConfig bert = small_bert(kDeepLayers);
  bert.intermediate_size = 72;
  return bert;
}

config::RunConfig run_in_gather_groups(config::Sharding sharded, int micro_batch, int accumulation,
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
    config_ = run_in_gather_groups(run.sharded, kGlobalBatch / run.accumulation / world_->size(),
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

// Every exchange sends (r - 1) / r of the parameters. There is one sum and, with `all`, there are
// two gathers, except of weights that stay in memory.
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
  const bool bf16 = run.precision == config::Precision::kBf16, single_rank = ranks == 1;
  const int64_t whole = sizes.all, shard = whole / ranks;
  const int64_t buffers = 2 * sizes.layer + sizes.embeddings + sizes.heads;
  const auto shares = [&](config::Sharding what) { return run.sharded >= what && !single_rank; };
  const int64_t kept = 4 + (bf16 ? 2 : 0);
  const ParameterMemory memory = trainer_->parameter_memory();
  EXPECT_EQ(memory.weights, shares(kAll) ? kept * shard + (bf16 ? 2 : 4) * buffers : kept * whole);
  const bool sums_first = run.accumulation > 1 && (run.layer_order || !shares(kGradients));
  EXPECT_EQ(memory.gradients, (shares(kGradients) ? 4 * shard + 4 * buffers : 4 * whole) +
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

// Weights, gradients and both together share buffers; activations and sums are in bf16.
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

// Layers share buffers: there are more layers than buffers.
TEST_P(TrainerOverRanks, ShardedGradientsGiveTheSameWeights) {
  constexpr int kTrainedSteps = 2;
  if (GetParam().clip == config::ClipMode::kBeforeAllReduce) GTEST_SKIP() << "is refused";
  const auto trained = [&](const config::RunConfig& config, device::Backend& backend) {
    return train(config, backend, *world_, *source_, 7, kTrainedSteps, nullptr, small_bert(5));
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

// Each rank updates a share of the weights if optimizer state is sharded. LAMB's norms of tensors
// are then summed over ranks, so the last bits may differ from those of a single rank.
TEST_P(TrainerOverRanks, ShardedStateGivesTheSameWeights) {
  const bool is_lamb = GetParam().optimizer == kLamb;
  for (const config::Precision precision : {config::Precision::kFp32, config::Precision::kBf16}) {
    config::RunConfig config = run_of(GetParam(), kGlobalBatch / world_->size(), 1);
    config.model.precision = precision;
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
TEST(BertSystemOverRanks, SavesTheWeightsOfAllRanks) {
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

}  // namespace
}  // namespace strata::training
