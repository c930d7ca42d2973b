// Tests the stages of a pipeline. Ranks that each have the whole model give the expected result.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/deferred_backend.h"
#include "tests/training/checkpoint/resumed_training.h"
#include "tests/training/counting_device.h"
#include "tests/training/small_training.h"

namespace strata::training {
namespace {

constexpr uint64_t kSeed = 7;
constexpr int kSamples = 48, kSteps = 3;

constexpr auto kContiguous = config::PipelineKind::kContiguous,
               kModular = config::PipelineKind::kModular;
using config::ClipMode;
using config::OptimizerKind;

struct Case {
  config::PipelineKind pipeline;
  ClipMode clip = ClipMode::kNone;
  double max_norm = 1;
  OptimizerKind optimizer = OptimizerKind::kAdam;
};

// Two layers per stage, each at least a bucket, so that any division into stages has the same
// buckets.
bert::BertConfig model_of(int stages) {
  bert::BertConfig config = small_bert();
  config.hidden_size = config.intermediate_size = 32;
  config.layers = 2 * stages;
  return config;
}

// Returns a pipeline with as many micro-batches as stages, or one more if there are two.
config::RunConfig run_of(const Case& test, int stages) {
  config::RunConfig config = small_run();
  config.parallel = {stages, test.pipeline};
  config.clip = {test.clip, test.max_norm};
  config.optimizer.name = test.optimizer;
  config.batch.micro_batch = 2;
  config.batch.gradient_accumulation_steps = std::max(stages, 3);
  config.reduce.bucket_megabytes = 0.004;
  return config;
}

// Returns the same run on ranks with the whole model.
config::RunConfig whole(config::RunConfig config) {
  config.parallel.stages = 1;
  config.batch.micro_batch *= config.batch.gradient_accumulation_steps;
  config.batch.gradient_accumulation_steps = 1;
  return config;
}

std::string name_of_case(const testing::TestParamInfo<Case>& test) {
  return fmt::format("{}_{}_{}", config::name_of(test.param.pipeline),
                     config::name_of(test.param.optimizer), config::name_of(test.param.clip));
}

double largest_difference(const bert::HostWeights& a, const bert::HostWeights& b) {
  double largest = 0;
  EXPECT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(std::isfinite(a[i]));
    largest = larger(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

class PipelineTraining : public testing::TestWithParam<Case> {
 protected:
  // Returns the possible numbers of stages.
  std::vector<int> stages() const {
    std::vector<int> stages;
    for (int count = 2; count <= world_->size(); ++count) {
      if (world_->size() % count == 0) stages.push_back(count);
    }
    return stages;
  }
  // Returns the ranks with the same stage, one per replica.
  std::unique_ptr<comm::Communicator> replicas(int stages) {
    return world_->split(world_->rank() % stages);
  }
  TrainingHistory train_on(comm::Communicator& ranks, const config::RunConfig& config,
                           const bert::BertConfig& bert) {
    return train(config, *make_backend(config), ranks, *source_, kSeed, kSteps, nullptr, bert);
  }

  std::unique_ptr<comm::Communicator> world_ = comm::make_mpi_communicator();
  std::unique_ptr<comm::Communicator> single_rank_ = comm::make_single_communicator();
  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(kSamples));
};

constexpr double kClips = 0.3;
const auto kCases =
    testing::Values(Case{kContiguous}, Case{kModular},  //
                    Case{kContiguous, ClipMode::kAfterAllReduce, kClips},
                    Case{kModular, ClipMode::kAfterAllReduce, kClips},
                    Case{kContiguous, ClipMode::kBeforeAllReduce, kClips},
                    Case{kModular, ClipMode::kBeforeAllReduce, kClips},
                    Case{kContiguous, ClipMode::kBucketBeforeAllReduce, kClips},
                    Case{kModular, ClipMode::kBucketBeforeAllReduce, kClips},
                    Case{kContiguous, ClipMode::kAfterAllReduce, kClips, OptimizerKind::kLamb},
                    Case{kModular, ClipMode::kBucketBeforeAllReduce, kClips, OptimizerKind::kLamb},
                    Case{kModular, ClipMode::kAfterAllReduce, kClips, OptimizerKind::kMadgrad});
INSTANTIATE_TEST_SUITE_P(Cases, PipelineTraining, kCases, name_of_case);

TEST_P(PipelineTraining, MatchesTrainingOfWholeModels) {
  constexpr double kBound = 1e-5;
  for (const int stages : this->stages()) {
    SCOPED_TRACE(fmt::format("{} stages", stages));
    const config::RunConfig config = run_of(GetParam(), stages);
    const bert::BertConfig bert = model_of(stages);
    const TrainingHistory found = train_on(*world_, config, bert);
    const TrainingHistory expected = train_on(*replicas(stages), whole(config), bert);
    EXPECT_LE(largest_loss_difference(found, expected), kBound);
    EXPECT_LE(largest_difference(found.weights, expected.weights), kBound);
    EXPECT_EQ(found.evaluation.masked_lm.count, expected.evaluation.masked_lm.count);
    EXPECT_NEAR(found.evaluation.mean_loss(), expected.evaluation.mean_loss(), kBound);
    for (size_t step = 0; step < found.steps.size(); ++step) {
      const auto &norm = found.steps[step].gradient_norm,
                 &expected_norm = expected.steps[step].gradient_norm;
      ASSERT_EQ(norm.has_value(), GetParam().clip != ClipMode::kNone);
      if (GetParam().clip == ClipMode::kAfterAllReduce || replicas(stages)->size() == 1) {
        if (norm) {
          EXPECT_NEAR(*norm, *expected_norm, kBound * *expected_norm);
        }
      }
      if (norm) {
        EXPECT_GT(*norm, 2 * kClips) << "nothing is clipped";
      }
    }
    bert::HostWeights first = found.weights;
    world_->broadcast(first.data(), first.size() * sizeof(float), 0);
    EXPECT_EQ(first, found.weights) << "ranks differ";
  }
}

// Compares one step in double: a replica's gradients, or, with two replicas, their mean, which
// ranks exchange in f32.
TEST_P(PipelineTraining, GradientsMatchOneRankWithTheWholeBatch) {
  if (GetParam().clip != ClipMode::kNone) return;
  for (const int stages : this->stages()) {
    SCOPED_TRACE(fmt::format("{} stages", stages));
    config::RunConfig config = run_of(GetParam(), stages);
    config.device.backend = &device::find_backend("reference");
    const auto backend = make_backend(config);
    ASSERT_EQ(backend->master_dtype(), device::DType::kF64);
    const bert::BertConfig bert = model_of(stages);
    const int replicas = world_->size() / stages;

    struct Gradients {
      bert::ParameterLayout layout;
      std::vector<double> values;
    };
    const auto gradients = [&](comm::Communicator& ranks, const config::RunConfig& run) {
      bert::Model model(bert, *backend, capacity_of(*source_, run.batch.micro_batch),
                        model_options(run, bert, ranks));
      model.set_weights(weights_of_stage(
          model, bert::random_weights(bert::ParameterLayout(model.config()), kSeed)));
      Trainer trainer(run, *backend, model, ranks, kSeed);
      trainer.start(*source_);
      trainer.step();
      const auto* values = model.parameters().gradients().memory().as<double>();
      return Gradients{model.layout(), {values, values + model.layout().size}};
    };
    config::RunConfig of_one = whole(config);
    of_one.batch.micro_batch *= replicas;
    const Gradients found = gradients(*world_, config), expected = gradients(*single_rank_, of_one);
    double largest = 0, difference = 0;
    for (const std::string& group : found.layout.groups) {
      const Range mine = found.layout.group(group), theirs = expected.layout.group(group);
      ASSERT_EQ(mine.size(), theirs.size());
      for (int64_t i = 0; i < mine.size(); ++i) {
        const double value = expected.values[static_cast<size_t>(theirs.begin + i)];
        largest = larger(largest, std::abs(value));
        difference =
            larger(difference,
                   std::abs(found.values[static_cast<size_t>(mine.begin + i)] / replicas - value));
      }
    }
    EXPECT_GT(largest, 1e-3);
    EXPECT_TRUE(std::isfinite(largest));
    EXPECT_LE(difference, (replicas == 1 ? 1e-13 : 1e-7) * largest);
  }
}

// Messages follow the device's order of work, even if the host is ahead. Recomputed activations and
// sharded state have the same bits.
TEST_P(PipelineTraining, HasTheSameBitsOnDevicesThatLagBehind) {
  for (const int stages : this->stages()) {
    SCOPED_TRACE(fmt::format("{} stages", stages));
    config::RunConfig config = run_of(GetParam(), stages);
    const bert::BertConfig bert = model_of(stages);
    const TrainingHistory expected = train_on(*world_, config, bert);
    const auto cpu = make_backend(config);
    config.batch.activations = config::ActivationPolicy::kRecompute;
    config.optimizer.sharded = GetParam().optimizer == OptimizerKind::kLamb
                                   ? config::Sharding::kNone
                                   : config::Sharding::kState;
    testing_support::DeferredBackend late(*cpu, static_cast<uint64_t>(world_->rank()));
    for (device::Backend* backend : {cpu.get(), static_cast<device::Backend*>(&late)}) {
      const TrainingHistory found =
          train(config, *backend, *world_, *source_, kSeed, kSteps, nullptr, bert);
      EXPECT_EQ(found.weights, expected.weights) << backend->name();
      EXPECT_EQ(found.evaluation.masked_lm.correct, expected.evaluation.masked_lm.correct);
    }
  }
}

// Activations of micro-batches in flight and messages have their memory before the first step.
TEST_P(PipelineTraining, StepsTakeNoMemory) {
  for (const int stages : this->stages()) {
    for (const auto sharded : {config::Sharding::kNone, config::Sharding::kState}) {
      SCOPED_TRACE(fmt::format("{} stages, sharded: {}", stages, config::name_of(sharded)));
      config::RunConfig config = run_of(GetParam(), stages);
      config.optimizer.sharded = sharded;
      const bert::BertConfig bert = model_of(stages);
      const auto cpu = make_backend(config);
      CountingDevice device(*cpu, static_cast<uint64_t>(world_->rank()));
      bert::Model model(bert, device, capacity_of(*source_, config.batch.micro_batch),
                        model_options(config, bert, *world_));
      model.set_weights(weights_of_stage(
          model, bert::random_weights(bert::ParameterLayout(model.config()), kSeed)));
      Trainer trainer(config, device, model, *world_, kSeed);
      trainer.start(*source_);
      const int before = device.allocations;
      EXPECT_GT(before, 0);
      for (int step = 0; step < kSteps; ++step) trainer.step();
      EXPECT_EQ(device.allocations, before);
    }
  }
}

// A checkpoint holds the whole model: two stages resume with the same bits, one rank up to
// rounding.
TEST_P(PipelineTraining, GoesOnFromACheckpoint) {
  if (world_->size() % 2 != 0) return;
  constexpr int kBefore = 2;
  uint64_t owner = static_cast<uint64_t>(::getpid());
  world_->broadcast(&owner, sizeof owner, 0);
  const auto folder =
      std::filesystem::path(testing::TempDir()) / fmt::format("strata.stages.{}", owner);
  config::RunConfig config = run_of(GetParam(), 2);
  for (const auto sharded : {config::Sharding::kNone, config::Sharding::kState}) {
    config.optimizer.sharded = sharded;
    const auto cpu = make_backend(config);
    train_to_checkpoint(config, *cpu, *world_, *source_, kSeed, kBefore, folder);
    const TrainingHistory resumed =
        train_from_checkpoint(config, *cpu, *world_, *source_, kSeed, kSteps - kBefore, folder);
    const TrainingHistory expected = train(config, *cpu, *world_, *source_, kSeed, kSteps);
    EXPECT_EQ(resumed.weights, expected.weights);
    config::RunConfig of_one = whole(config);
    of_one.batch.micro_batch *= world_->size() / 2;
    const bool is_own = GetParam().clip == ClipMode::kBeforeAllReduce ||
                        GetParam().clip == ClipMode::kBucketBeforeAllReduce;
    if (is_own && world_->size() > 2) continue;  // each replica clips its own gradient
    const TrainingHistory single_rank = train_from_checkpoint(of_one, *cpu, *single_rank_, *source_,
                                                              kSeed, kSteps - kBefore, folder);
    EXPECT_LE(largest_difference(single_rank.weights, expected.weights), 1e-5);
    world_->barrier();
  }
  world_->barrier();
  if (world_->rank() == 0) std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace strata::training
