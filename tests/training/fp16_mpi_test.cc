// Tests model.precision fp16: a scaled loss, and steps that all ranks skip.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/training/small_training.h"
#include "training/trainer.h"

namespace strata::training {
namespace {

constexpr int kSamples = 48, kGlobalBatch = 12;

config::RunConfig fp16_run(int replicas) {
  config::RunConfig config = small_run();
  config.model.precision = config::Precision::kFp16;
  config.batch.micro_batch = kGlobalBatch / replicas;
  return config;
}

struct Case {
  config::ClipMode clip;
  config::OptimizerKind optimizer = config::OptimizerKind::kAdam;
  bool sharded = false;
  config::ReduceDType reduce = config::ReduceDType::kFp32;
  bool split_tied_embedding = false;
};

config::RunConfig run_of(const Case& c, int ranks) {
  config::RunConfig config = fp16_run(ranks);
  config.clip = {c.clip, 0.3};
  config.optimizer.name = c.optimizer;
  config.optimizer.sharded = c.sharded ? config::Sharding::kState : config::Sharding::kNone;
  config.reduce.dtype = c.reduce;
  config.reduce.split_tied_embedding = c.split_tied_embedding;
  return config;
}

using enum config::ClipMode;
constexpr auto kLamb = config::OptimizerKind::kLamb, kAdam = config::OptimizerKind::kAdam;

const auto kCases = testing::Values(
    Case{kNone}, Case{kAfterAllReduce}, Case{kBeforeAllReduce}, Case{kBucketBeforeAllReduce},
    Case{kNone, kAdam, false, config::ReduceDType::kFp16},
    Case{kBucketBeforeAllReduce, kAdam, false, config::ReduceDType::kFp16},
    Case{kNone, kAdam, false, config::ReduceDType::kFp32, true}, Case{kNone, kAdam, true},
    Case{kBucketBeforeAllReduce, kAdam, true}, Case{kAfterAllReduce, kLamb},
    Case{kBucketBeforeAllReduce, kLamb, true}, Case{kNone, config::OptimizerKind::kMadgrad},
    Case{kNone, config::OptimizerKind::kAcClip},
    Case{kAfterAllReduce, config::OptimizerKind::kSgd, true});

std::string name_of_case(const testing::TestParamInfo<Case>& test) {
  const Case& c = test.param;
  return fmt::format("{}_{}_{}{}{}", config::name_of(c.optimizer), config::name_of(c.clip),
                     config::name_of(c.reduce), c.sharded ? "_sharded" : "",
                     c.split_tied_embedding ? "_split_tied_embedding" : "");
}

class Fp16OverRanks : public testing::TestWithParam<Case> {
 protected:
  Fp16OverRanks() : config_(run_of(GetParam(), world_->size())) { make_trainer(); }

  void make_trainer() {
    trainer_.reset();
    model_.reset();
    backend_ = make_backend(config_, {world_->rank(), world_->size()});
    model_ = std::make_unique<bert::Model>(small_bert(), *backend_,
                                           capacity_of(*source_, config_.batch.micro_batch),
                                           model_options(config_, small_bert(), *world_));
    model_->set_weights(bert::random_weights(bert::ParameterLayout(small_bert()), 7));
    trainer_ = std::make_unique<Trainer>(config_, *backend_, *model_, *world_, 7);
    trainer_->start(*source_);
  }

  // Returns an element between two tensors. No operation writes it, but it is reduced with them.
  float& gap() {
    const bert::ParameterLayout& layout = model_->layout();
    int64_t end = 0;
    for (const bert::Parameter& parameter : layout.all) {
      if (parameter.offset > end) break;
      end = parameter.offset + parameter.size();
    }
    return *elements_of(model_->parameters().gradients(), {end, end + 1}).as<float>();
  }

  // Runs a step with `value` only in the gradient of rank `rank`.
  StepResult step_with(float value, int rank) {
    if (world_->rank() == rank) gap() = value;
    const StepResult result = trainer_->step();
    gap() = 0;
    return result;
  }

  // Returns this rank's weights, compute weights and optimizer state.
  std::vector<std::vector<char>> bits() {
    std::vector<device::Tensor> tensors{model_->compute_weights()};
    for (const StateArray& array : trainer_->state().arrays) tensors.push_back(array.tensor);
    std::vector<std::vector<char>> all;
    for (const device::Tensor& tensor : tensors) {
      const char* data = tensor.as<char>();
      all.emplace_back(data, data + tensor.bytes());
    }
    return all;
  }

  std::unique_ptr<comm::Communicator> world_ = comm::make_mpi_communicator();
  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(kSamples));
  config::RunConfig config_;
  std::unique_ptr<device::Backend> backend_;
  std::unique_ptr<bert::Model> model_;
  std::unique_ptr<Trainer> trainer_;
};

INSTANTIATE_TEST_SUITE_P(Modes, Fp16OverRanks, kCases, name_of_case);

TEST_P(Fp16OverRanks, AnInfinityOnOneRankLeavesAllWeightsAndMomentsAsTheyAre) {
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(trainer_->step().skipped);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  float scale = 65536;
  for (int rank = 0; rank < world_->size(); ++rank) {
    const auto before = bits();
    const StepResult skipped = step_with(rank % 2 == 0 ? kInfinity : -kInfinity, rank);
    EXPECT_TRUE(skipped.skipped);
    EXPECT_EQ(skipped.loss_scale, scale);
    EXPECT_FALSE(skipped.gradient_norm);
    EXPECT_TRUE(std::isfinite(skipped.losses->mean_loss()));
    EXPECT_TRUE(bits() == before) << "of rank " << rank;
    const StepResult next = trainer_->step();
    EXPECT_FALSE(next.skipped);
    EXPECT_EQ(next.loss_scale, scale /= 2);
    EXPECT_FALSE(bits() == before);
  }
  EXPECT_EQ(trainer_->loss_scale()->skipped_steps, world_->size());
}

// In Adam's step 1 the moments' corrections make every element's update the learning rate, whatever
// its gradient is. In step 2 updates are longer or shorter.
TEST(Fp16, ASkippedStepDoesNotAdvanceAdam) {
  const auto world = comm::make_mpi_communicator();
  const auto source = open_small(counting_instances(kSamples));
  config::RunConfig config = fp16_run(world->size());
  config.optimizer.epsilon = 1e-20;
  config.optimizer.weight_decay = 0;
  config.loss_scale.initial = 1 << 24;  // this times a probability exceeds binary16
  const auto backend = make_backend(config, {world->rank(), world->size()});
  bert::Model model(small_bert(), *backend, capacity_of(*source, config.batch.micro_batch),
                    model_options(config, small_bert(), *world));
  model.set_weights(bert::random_weights(bert::ParameterLayout(small_bert()), 7));
  Trainer trainer(config, *backend, model, *world, 7);
  trainer.start(*source);
  const auto weights = [&] {
    const device::Arena& master = model.parameters().master_weights();
    const float* data = master.memory().as<float>();
    return std::vector<float>(data, data + master.size());
  };
  const std::vector<float> initial = weights();
  StepResult step;
  int skipped = 0;
  while ((step = trainer.step()).skipped) {
    ++skipped;
    EXPECT_EQ(weights(), initial);
  }
  ASSERT_GE(skipped, 2);
  EXPECT_EQ(trainer.loss_scale()->scale, static_cast<float>(1 << 24) / std::exp2(skipped));
  const std::vector<float> updated = weights();
  int64_t moved = 0;
  for (size_t i = 0; i < initial.size(); ++i) {
    const double way = std::abs(double{updated[i]} - initial[i]);
    if (way == 0) continue;  // no gradient
    ++moved;
    EXPECT_NEAR(way / step.learning_rate, 1, 1e-3) << i;
  }
  EXPECT_GT(moved, std::ssize(initial) / 2);
}

// binary16 has 11 digits, bf16 8, f32 24. The oracle computes in double, without a scale.
TEST(Fp16, LossesMatchThoseInDouble) {
  const auto world = comm::make_mpi_communicator();
  const auto source = open_small(counting_instances(kSamples));
  for (const auto clip : {kNone, kAfterAllReduce}) {
    config::RunConfig config = fp16_run(world->size());
    config.clip = {clip, 0.3};
    config::RunConfig exact = config;
    exact.model.precision = config::Precision::kAuto;
    exact.device.backend = &device::find_backend("reference");
    const TrainingHistory fp16 = train(config, *world, *source, 7, 20);
    const TrainingHistory expected = train(exact, *world, *source, 7, 20);
    const double difference = largest_loss_difference(fp16, expected);
    EXPECT_LE(difference, 2e-3);
    if (world->rank() == 0) RecordProperty("difference", fmt::format("{}", difference));
    for (const StepResult& step : fp16.steps) EXPECT_FALSE(step.skipped);
    if (clip == kNone) continue;
    for (size_t i = 0; i < fp16.steps.size(); ++i) {
      EXPECT_NEAR(*fp16.steps[i].gradient_norm / *expected.steps[i].gradient_norm, 1, 1e-2);
    }
  }
}

// Without scaling, such small gradients would be lost; scaling by powers of two changes nothing
// else.
TEST(Fp16, TheScaleDoesNotMatterWithoutUnderflowAndOverflow) {
  const auto world = comm::make_mpi_communicator();
  const auto source = open_small(counting_instances(kSamples));
  config::RunConfig config = fp16_run(world->size());
  config.clip = {kAfterAllReduce, 0.3};
  const TrainingHistory one = train(config, *world, *source, 7, 10);
  config.loss_scale.initial = 1 << 15;
  const TrainingHistory other = train(config, *world, *source, 7, 10);
  EXPECT_LE(largest_loss_difference(one, other), 1e-4);
  config.loss_scale.growth_steps = 3;
  const TrainingHistory grown = train(config, *world, *source, 7, 10);
  EXPECT_LE(largest_loss_difference(one, grown), 1e-4);
  EXPECT_EQ(grown.steps.back().loss_scale, 1 << 18);
}

// All ways to divide the work skip the same steps and have the same losses.
TEST(Fp16, ShardsAndStagesSkipTheSameSteps) {
  const auto world = comm::make_mpi_communicator();
  const auto source = open_small(counting_instances(kSamples));
  config::RunConfig config = fp16_run(world->size());
  config.batch.micro_batch /= 2;
  config.batch.gradient_accumulation_steps = 2;
  config.clip = {kAfterAllReduce, 0.3};
  config.loss_scale = {.initial = 1 << 22, .growth_steps = 5};
  const auto skipped_in = [](const TrainingHistory& history) {
    std::vector<bool> skipped;
    for (const StepResult& step : history.steps) skipped.push_back(step.skipped);
    return skipped;
  };
  const TrainingHistory whole = train(config, *world, *source, 7, 16);
  const std::vector<bool> expected = skipped_in(whole);
  EXPECT_GE(std::ranges::count(expected, true), 2);
  EXPECT_LE(std::ranges::count(expected, true), 8);
  using enum config::Sharding;
  for (const auto clip : {kAfterAllReduce, config::ClipMode::kNone}) {
    for (const auto sharded : {kState, kGradients, kAll}) {
      config::RunConfig shards = config;
      shards.optimizer.sharded = sharded;
      shards.clip.mode = clip;
      config::RunConfig unsharded = config;
      unsharded.clip.mode = clip;
      const TrainingHistory history = train(shards, *world, *source, 7, 16);
      const TrainingHistory other = train(unsharded, *world, *source, 7, 16);
      EXPECT_EQ(skipped_in(history), skipped_in(other)) << config::name_of(sharded);
      EXPECT_LE(largest_loss_difference(history, other), 1e-3) << config::name_of(sharded);
    }
  }
  if (world->size() != 2) return;  // the model has two layers
  // Two stages are one replica, with the gradients of the whole batch.
  const auto single = comm::make_single_communicator();
  for (const auto clip : {kAfterAllReduce, config::ClipMode::kNone}) {
    config::RunConfig whole_model = config;
    whole_model.clip.mode = clip;
    whole_model.batch.micro_batch *= 2;
    config::RunConfig stages = whole_model;
    stages.parallel.stages = 2;
    const TrainingHistory history = train(stages, *world, *source, 7, 16);
    const TrainingHistory other = train(whole_model, *single, *source, 7, 16);
    EXPECT_EQ(skipped_in(history), skipped_in(other));
    EXPECT_LE(largest_loss_difference(history, other), 1e-3);
  }
}

}  // namespace
}  // namespace strata::training
