#include "training/trainer.h"

#include <numeric>

#include "base/error.h"
#include "config/run_config_names.h"
#include "tests/comm/mirror_communicator.h"
#include "tests/support/deferred_backend.h"
#include "tests/support/matchers.h"
#include "tests/training/small_training.h"

namespace strata::training {
namespace {

constexpr int kSteps = 20, kSamples = 48;

class TrainerTest : public testing::Test {
 protected:
  TrainingHistory run(const config::RunConfig& config, uint64_t seed = 7, int steps = kSteps) {
    return train(config, *communicator_, *source_, seed, steps);
  }

  void expect_bits_of_issued_steps_when_launched(config::RunConfig config) {
    config.batch.round_tokens = 32;
    config.batch.micro_batch = 4;
    const auto cpu = make_backend(config);
    const TrainingHistory issued = train(config, *cpu, *communicator_, *source_, 7, kSteps);
    config.device.graphs = true;
    testing_support::DeferredBackend deferred(*cpu, 1);
    EXPECT_EQ(train(config, deferred, *communicator_, *source_, 7, kSteps).weights, issued.weights);
    EXPECT_GT(deferred.launches(), 5);
  }

  std::unique_ptr<comm::Communicator> communicator_ = comm::make_single_communicator();
  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(kSamples));
};

struct Mode {
  config::ClipMode clip;
  config::BalanceStrategy strategy;
};
class TrainerModes : public TrainerTest, public testing::WithParamInterface<Mode> {
 protected:
  config::RunConfig mode_config() const {
    config::RunConfig config = small_run();
    config.clip = {GetParam().clip, 0.3};
    config.batch.load_balance.strategy = GetParam().strategy;
    return config;
  }
};

INSTANTIATE_TEST_SUITE_P(
    All, TrainerModes,
    testing::Values(
        Mode{config::ClipMode::kNone, config::BalanceStrategy::kRandom},
        Mode{config::ClipMode::kAfterAllReduce, config::BalanceStrategy::kRandom},
        Mode{config::ClipMode::kBeforeAllReduce, config::BalanceStrategy::kRandom},
        Mode{config::ClipMode::kBucketBeforeAllReduce, config::BalanceStrategy::kRandom},
        Mode{config::ClipMode::kNone, config::BalanceStrategy::kStratified},
        Mode{config::ClipMode::kBucketBeforeAllReduce, config::BalanceStrategy::kStratified}),
    [](const auto& test) {
      return std::string(config::name_of(test.param.clip)) + "_" + name_of(test.param.strategy);
    });

TEST_P(TrainerModes, AccumulatedMicroBatchesAreOneBatch) {
  config::RunConfig config = mode_config();
  const TrainingHistory whole = run(config);
  config.batch.micro_batch = 4;
  config.batch.gradient_accumulation_steps = 2;
  EXPECT_LE(largest_loss_difference(whole, run(config)), 1e-4);
}

TEST_P(TrainerModes, TheSameSeedGivesTheSameBits) {
  config::RunConfig config = mode_config();
  const TrainingHistory first = run(config, 7, 5), second = run(config, 7, 5);
  EXPECT_EQ(largest_loss_difference(first, second), 0);
  EXPECT_EQ(first.weights, second.weights);
}

// A deferred device runs work in any order that its streams' events allow, and must give the same
// bits.
TEST_P(TrainerModes, ADeviceMayLagBehindTheHost) {
  config::RunConfig config = mode_config();
  config.batch.micro_batch = 4;
  config.batch.gradient_accumulation_steps = 2;
  config.log.loss_interval_steps = 5;
  const auto cpu = make_backend(config);
  const TrainingHistory at_once = train(config, *cpu, *communicator_, *source_, 7, 10);
  for (uint64_t schedule = 0; schedule < 3; ++schedule) {
    testing_support::DeferredBackend deferred(*cpu, schedule);
    const TrainingHistory history = train(config, deferred, *communicator_, *source_, 7, 10);
    EXPECT_EQ(history.weights, at_once.weights) << "schedule " << schedule;
    EXPECT_EQ(history.steps[4].losses->mean_loss(), at_once.steps[4].losses->mean_loss());
  }
}

// The host waits for the GPU in a copy to pageable memory. Nothing would report an endless wait.
TEST_P(TrainerModes, StepsCopyLossesAndNormsToPinnedMemory) {
  config::RunConfig config = mode_config();
  config.log.loss_interval_steps = 1;
  const auto cpu = make_backend(config);
  const auto pageable_copies = [&](int steps) {
    testing_support::DeferredBackend deferred(*cpu, 1);
    const TrainingHistory history = train(config, deferred, *communicator_, *source_, 7, steps);
    EXPECT_TRUE(history.steps.back().losses);
    return deferred.pageable_copies();
  };
  const int of_the_end = pageable_copies(1);  // copies of the weights
  EXPECT_GT(of_the_end, 0);
  EXPECT_EQ(pageable_copies(4), of_the_end);
}

TEST_P(TrainerModes, EveryOrderOfWorkHasTheSameBits) {
  config::RunConfig config = mode_config();
  config.batch.micro_batch = 4;
  config.batch.gradient_accumulation_steps = 2;
  config.log.loss_interval_steps = 5;
  const TrainingHistory expected = run(config, 7, 5);
  const auto expect_the_same = [&] {
    const TrainingHistory history = run(config, 7, 5);
    EXPECT_EQ(history.weights, expected.weights);
    EXPECT_EQ(history.steps[4].losses->mean_loss(), expected.steps[4].losses->mean_loss());
    EXPECT_EQ(history.steps[4].losses->masked_lm.count, expected.steps[4].losses->masked_lm.count);
  };
  config.batch.activations = config::ActivationPolicy::kRecompute;
  expect_the_same();
  config.batch.accumulation_order = config::AccumulationOrder::kLayer;
  expect_the_same();
  config.batch.activations = config::ActivationPolicy::kKeep;
  expect_the_same();
}

// Launched graphs have the bits of issued work, at any place in a step.
TEST_P(TrainerModes, MicroBatchesMayBeCaptured) {
  config::RunConfig config = mode_config();
  config.batch.micro_batch = 4;
  config.batch.gradient_accumulation_steps = 3;
  config.batch.round_tokens = 32;
  config.log.loss_interval_steps = 5;
  const auto cpu = make_backend(config);
  const TrainingHistory issued = train(config, *cpu, *communicator_, *source_, 7, 20);
  config.device.graphs = true;
  for (uint64_t schedule = 0; schedule < 3; ++schedule) {
    testing_support::DeferredBackend deferred(*cpu, schedule);
    const TrainingHistory launched = train(config, deferred, *communicator_, *source_, 7, 20);
    EXPECT_EQ(launched.weights, issued.weights) << "schedule " << schedule;
    EXPECT_EQ(launched.steps[19].losses->mean_loss(), issued.steps[19].losses->mean_loss());
    EXPECT_EQ(launched.steps[19].gradient_norm, issued.steps[19].gradient_norm);
    EXPECT_GT(deferred.launches(), 10);
  }
}

TEST_P(TrainerModes, RoundingTokensUpChangesNothing) {
  config::RunConfig config = mode_config();
  const TrainingHistory exact = run(config);
  config.batch.round_tokens = 32;
  EXPECT_LE(largest_loss_difference(exact, run(config)), 1e-4);
}

class RoundingDevice : public testing_support::DeferredBackend {
 public:
  using DeferredBackend::DeferredBackend;
  void round_to_float8(device::Stream s, const device::RoundToFloat8& op) override {
    ++rounded_;
    DeferredBackend::round_to_float8(s, op);
  }
  int rounded() const { return rounded_; }

 private:
  int rounded_ = 0;
};

TEST_F(TrainerTest, WeightsAreRoundedToEightBitsOnceAStep) {
  config::RunConfig config = small_run();
  config.model.precision = config::Precision::kFp8;
  config.batch.round_tokens = 16;
  config.batch.micro_batch = 4;
  const auto cpu = make_backend(config);
  const auto rounded_with = [&](int64_t accumulation) {
    config.batch.gradient_accumulation_steps = accumulation;
    RoundingDevice device(*cpu, 1);
    train(config, device, *communicator_, *source_, 7, 5);
    return device.rounded();
  };
  // Four weights per layer, in every step (the first records them) and every micro-batch of an
  // evaluation.
  const int64_t weights = 4 * small_bert().layers;
  EXPECT_EQ(rounded_with(1), weights * (5 + kSamples / 4));
  EXPECT_EQ(rounded_with(3), weights * (5 + kSamples / 4));
}

// GEMMs of fewer rows add up in another order on AVX2, and losses differ in the last f32 digit
// (6e-7). Such sums may finally round a value to another eight-bit number, and losses then differ
// by 1e-4. A mistake makes them differ by 1e-5 in the second step.
TEST_F(TrainerTest, AccumulatedMicroBatchesAreOneBatchInFloat8) {
  config::RunConfig config = small_run();
  config.model.precision = config::Precision::kFp8;
  config.batch.round_tokens = 16;
  const TrainingHistory whole = run(config, 7, 5);
  config.batch.micro_batch = 2;
  config.batch.gradient_accumulation_steps = 4;
  EXPECT_LE(largest_loss_difference(whole, run(config, 7, 5)), 1e-6);
}

TEST_F(TrainerTest, LossesAreReadAsOftenAsConfigured) {
  config::RunConfig config = small_run();
  const TrainingHistory every = run(config, 7, 7);
  config.log.loss_interval_steps = 3;
  const TrainingHistory third = run(config, 7, 7);
  EXPECT_EQ(third.weights, every.weights);
  for (size_t step = 0; step < 7; ++step) {
    ASSERT_EQ(third.steps[step].losses.has_value(), step == 2 || step == 5) << step;
    if (!third.steps[step].losses) continue;
    bert::Losses sum;
    for (size_t i = step - 2; i <= step; ++i) sum += *every.steps[i].losses;
    EXPECT_NEAR(third.steps[step].losses->mean_loss(), sum.mean_loss(), 1e-12);
    EXPECT_EQ(third.steps[step].losses->masked_lm.count, sum.masked_lm.count);
  }
}

TEST_F(TrainerTest, LearnsToPredictTheData) {
  config::RunConfig config = small_run();
  config.optimizer.lr = 5e-3;
  const bert::Losses before = run(config, 7, 0).evaluation, after = run(config, 7, 40).evaluation;
  EXPECT_LT(after.mean_loss(), 0.8 * before.mean_loss());
}

TEST_F(TrainerTest, HasSimilarLossesInFloat8AndFloat32) {
  config::RunConfig config = small_run();
  config.optimizer.lr = 5e-3;
  const TrainingHistory exact = run(config, 7, 40);
  config.model.precision = config::Precision::kFp8;
  const TrainingHistory rounded = run(config, 7, 40);
  EXPECT_NE(rounded.weights, exact.weights);
  EXPECT_NEAR(rounded.steps.back().losses->mean_loss() / exact.steps.back().losses->mean_loss(), 1,
              0.05);
}

TEST_F(TrainerTest, LambLearnsToo) {
  config::RunConfig config = small_run();
  config.optimizer.name = config::OptimizerKind::kLamb;
  config.optimizer.lr = 0.05;  // relative to a tensor's own norm
  config.optimizer.epsilon = 1e-6;
  const bert::Losses before = run(config, 7, 0).evaluation, after = run(config, 7, 40).evaluation;
  EXPECT_LT(after.mean_loss(), 0.8 * before.mean_loss());
}

TEST_F(TrainerTest, MadgradAcClipAndSgdLearnToo) {
  config::RunConfig config = small_run();
  config.optimizer.epsilon = 1e-6;
  const bert::Losses before = run(config, 7, 0).evaluation;
  config.optimizer.name = config::OptimizerKind::kMadgrad;
  config.optimizer.lr = 5e-3;
  EXPECT_LT(run(config, 7, 40).evaluation.mean_loss(), 0.8 * before.mean_loss());
  config.optimizer.name = config::OptimizerKind::kAcClip;
  config.optimizer.lr = 1;  // scales gradients, not signs
  EXPECT_LT(run(config, 7, 40).evaluation.mean_loss(), 0.8 * before.mean_loss());
  config.optimizer.name = config::OptimizerKind::kSgd;
  config.optimizer.lr = 0.05;
  EXPECT_LT(run(config, 7, 40).evaluation.mean_loss(), 0.8 * before.mean_loss());
}

TEST_F(TrainerTest, StepsOfEveryOptimizerMayBeCaptured) {
  config::RunConfig config = small_run();
  for (const auto& optimizer : config::choices_of<config::OptimizerKind>()) {
    SCOPED_TRACE(optimizer.name);
    config.optimizer.name = optimizer.value;
    expect_bits_of_issued_steps_when_launched(config);
  }
}

// Counts how often ranks sync their largest values.
class CountingRanks : public comm::MirrorCommunicator {
 public:
  explicit CountingRanks(int& count) : count_(count) {}
  void all_reduce_max(std::span<float>) override { ++count_; }
  std::unique_ptr<comm::Communicator> duplicate() override {
    return std::make_unique<CountingRanks>(count_);
  }

 private:
  int& count_;
};

// Anything that fails or is slow on first use must run before the clock starts.
TEST_F(TrainerTest, ADryRunStepTriesTheExchangeOfFloat8) {
  config::RunConfig config = small_run();
  config.model.precision = config::Precision::kFp8;
  const auto cpu = make_backend(config);
  int exchanges = 0;
  CountingRanks ranks(exchanges);
  bert::Model model(small_bert(), *cpu, capacity_of(*source_, 4),
                    model_options(config, small_bert()));
  model.set_weights(bert::random_weights(model.layout(), 7));
  Trainer trainer(config, *cpu, model, ranks, 7);
  data::PackedBatch batch;
  source_->read(std::vector<uint32_t>{0, 1}, batch);
  const int before = exchanges;
  trainer.dry_run_step(batch, {});
  EXPECT_EQ(exchanges, before + 1);
}

TEST_F(TrainerTest, StepsInFloat8MayBeCaptured) {
  config::RunConfig config = small_run();
  config.model.precision = config::Precision::kFp8;
  expect_bits_of_issued_steps_when_launched(config);
}

TEST_F(TrainerTest, AnotherSeedGivesOtherWeightsDataAndDropout) {
  const TrainingHistory a = run(small_run(), 7, 2), b = run(small_run(), 8, 2);
  EXPECT_NE(a.weights, b.weights);
  EXPECT_NE(a.steps[0].losses->masked_lm.loss, b.steps[0].losses->masked_lm.loss);
}

TEST_F(TrainerTest, ClippingMatters) {
  config::RunConfig config = small_run();
  const TrainingHistory free = run(config, 7, 8);
  config.clip = {config::ClipMode::kAfterAllReduce, 0.3};
  const TrainingHistory clipped = run(config, 7, 8);
  // Adam ignores a constant factor, but the norm changes, and with it the factor.
  EXPECT_NE(free.weights, clipped.weights);
  EXPECT_GT(*clipped.steps[0].gradient_norm, 0.3);
  EXPECT_FALSE(free.steps[0].gradient_norm);
}

TEST_F(TrainerTest, AStepSaysWhatItTrainedOn) {
  config::RunConfig config = small_run();
  const TrainingHistory history = run(config, 7, kSamples / config.batch.micro_batch);
  int64_t tokens = 0, masked = 0;
  for (size_t i = 0; i < history.steps.size(); ++i) {
    const StepResult& step = history.steps[i];
    EXPECT_EQ(step.step, static_cast<int64_t>(i) + 1);
    EXPECT_EQ(step.losses->next_sentence.count, config.batch.micro_batch);
    EXPECT_EQ(step.global_tokens, step.tokens) << "one rank";
    EXPECT_FALSE(step.dropped_layers);
    tokens += step.tokens;
    masked += step.losses->masked_lm.count;
  }
  // One epoch has every sample once.
  const auto sum = [](std::span<const uint16_t> values) {
    return std::accumulate(values.begin(), values.end(), int64_t{0});
  };
  EXPECT_EQ(tokens, sum(source_->lengths()));
  EXPECT_EQ(masked, sum(source_->masked_counts()));
}

TEST_F(TrainerTest, TheLearningRateFollowsTheSchedule) {
  const config::RunConfig config = small_run();
  const TrainingHistory history = run(config, 7, 6);
  EXPECT_NEAR(history.steps[0].learning_rate, 2e-3 * 1 / 4, 1e-12);
  EXPECT_NEAR(history.steps[1].learning_rate, 2e-3 * 2 / 4, 1e-12);
  EXPECT_NEAR(history.steps[5].learning_rate, 2e-3 * (1 - 2.0 / 36), 1e-4);
}

TEST_F(TrainerTest, RefusesABatchThatCannotBeFilled) {
  config::RunConfig config = small_run();
  config.batch.micro_batch = kSamples + 1;
  EXPECT_THROW(run(config), Error);
}

TEST_F(TrainerTest, AnErrorInTheDataReachesTheCaller) {
  data::Instances instances = counting_instances(kSamples);
  instances.tokens[3] = kSmallVocabulary;
  source_ = open_small(instances);
  try {
    run(small_run(), 7, kSamples / small_run().batch.micro_batch);
    FAIL() << "no error was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(std::string(error.what()), HasSubstr("row 0")) << error.what();
    EXPECT_THAT(std::string(error.what()), HasSubstr("45")) << error.what();
  }
}

}  // namespace
}  // namespace strata::training
