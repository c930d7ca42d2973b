#include "base/error.h"
#include "tests/support/deferred_backend.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/training/checkpoint/resumed_training.h"

namespace strata::training {
namespace {

constexpr int kAll = 12, kCut = 5;

class Resume : public testing_support::TemporaryDirectory {
 protected:
  // Expects that a run resumed after kCut steps ends like one that was never interrupted.
  void expect_the_same_bits(const config::RunConfig& config, device::Backend& backend,
                            const bert::BertConfig& bert = small_bert()) {
    train_to_checkpoint(config, backend, *communicator_, *source_, 7, kCut, directory_ / "c", bert);
    const TrainingHistory resumed = train_from_checkpoint(config, backend, *communicator_, *source_,
                                                          7, kAll - kCut, directory_ / "c", bert);
    const TrainingHistory whole =
        train(config, backend, *communicator_, *source_, 7, kAll, nullptr, bert);
    EXPECT_EQ(resumed.weights, whole.weights);
    EXPECT_EQ(largest_loss_difference(resumed, last_steps(whole, kAll - kCut)), 0);
    EXPECT_EQ(resumed.steps.front().step, kCut + 1);
    EXPECT_EQ(resumed.steps.front().learning_rate, whole.steps[kCut].learning_rate);
    EXPECT_EQ(resumed.evaluation.masked_lm.loss, whole.evaluation.masked_lm.loss);
  }
  void expect_the_same_bits(const config::RunConfig& config) {
    expect_the_same_bits(config, *make_backend(config));
  }

  std::unique_ptr<comm::Communicator> communicator_ = comm::make_single_communicator();
  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(48));
};

TEST_F(Resume, GoesOnWithTheSameBits) { expect_the_same_bits(small_run()); }

TEST_F(Resume, GoesOnWithTheSameBitsAcrossEpochsAfterAWarmUp) {
  config::RunConfig config = small_run();
  config.batch.micro_batch = 20;  // kCut steps are a little more than two epochs
  config.initialization.warmup_steps = 2;
  expect_the_same_bits(config);
}

TEST_F(Resume, GoesOnWithTheSameBitsWithoutLayerNorm) {
  config::RunConfig config = small_run();
  bert::BertConfig bert = small_bert();
  config.model.norm = bert.norm = config::NormKind::kNone;
  config.standardization.weight = 1;
  expect_the_same_bits(config, *make_backend(config), bert);
}

TEST_F(Resume, GoesOnWithTheSameBitsInBf16) {
  config::RunConfig config = small_run();
  config.model.precision = config::Precision::kBf16;
  expect_the_same_bits(config);
}

// Steps are skipped and scales grow before and after the checkpoint.
TEST_F(Resume, GoesOnWithTheSameScaleAndBitsInFp16) {
  config::RunConfig config = small_run();
  config.model.precision = config::Precision::kFp16;
  config.loss_scale = {.initial = 1 << 22, .growth_steps = 2};
  expect_the_same_bits(config);
  const TrainingHistory whole =
      train(config, *make_backend(config), *communicator_, *source_, 7, kAll);
  const auto skipped = [&](int begin, int end) {
    return std::count_if(whole.steps.begin() + begin, whole.steps.begin() + end,
                         [](const StepResult& step) { return step.skipped; });
  };
  EXPECT_GT(skipped(0, kCut), 0);
  EXPECT_GT(skipped(kCut, kAll), 0);
  EXPECT_LT(skipped(0, kAll), kAll - 3);
}

TEST_F(Resume, GoesOnWithTheSameBitsInDouble) {
  config::RunConfig config = small_run();
  config.device.backend = &device::find_backend("reference");
  expect_the_same_bits(config);
}

TEST_F(Resume, GoesOnWithTheSameScalesInFp8) {
  config::RunConfig config = small_run();
  config.device.backend = &device::find_backend("reference");
  config.model.precision = config::Precision::kFp8;
  config.batch.round_tokens = 32;
  expect_the_same_bits(config);
}

TEST_F(Resume, GoesOnWithTheSameBitsOfLambPlannedBatchesAndSeveralMicroBatches) {
  config::RunConfig config = small_run();
  config.optimizer.name = config::OptimizerKind::kLamb;
  config.batch.micro_batch = 4;
  config.batch.gradient_accumulation_steps = 3;
  config.batch.load_balance.strategy = config::BalanceStrategy::kPlanned;
  config.clip = {config::ClipMode::kBucketBeforeAllReduce, 0.3};
  expect_the_same_bits(config);
}

TEST_F(Resume, GoesOnWithTheSameBitsOfMadgradAcClipAndSgd) {
  config::RunConfig config = small_run();
  config.initialization.warmup_steps = 2;
  config.optimizer.name = config::OptimizerKind::kMadgrad;
  expect_the_same_bits(config);
  config.optimizer.name = config::OptimizerKind::kAcClip;
  expect_the_same_bits(config);
  config.optimizer.name = config::OptimizerKind::kSgd;
  expect_the_same_bits(config);
}

TEST_F(Resume, GoesOnWithTheSameBitsWithGraphs) {
  config::RunConfig config = small_run();
  config.batch.round_tokens = 32;
  config.device.graphs = true;
  config.initialization.warmup_steps = 1;
  const auto cpu = make_backend(config);
  testing_support::DeferredBackend deferred(*cpu, 1);
  expect_the_same_bits(config, deferred);
}

TEST_F(Resume, AnotherGlobalBatchIsRefused) {
  config::RunConfig config = small_run();
  const auto backend = make_backend(config);
  train_to_checkpoint(config, *backend, *communicator_, *source_, 7, 1, directory_ / "c");
  config.batch.micro_batch = 4;
  const std::string error = testing_support::error_of([&] {
    train_from_checkpoint(config, *backend, *communicator_, *source_, 7, 1, directory_ / "c");
  });
  EXPECT_THAT(error, HasSubstr("8 samples"));
  EXPECT_THAT(error, HasSubstr("batch.micro_batch 4"));
}

TEST_F(Resume, AnotherDtypeIsRefused) {
  config::RunConfig config = small_run();
  train_to_checkpoint(config, *make_backend(config), *communicator_, *source_, 7, 1,
                      directory_ / "c");
  config.device.backend = &device::find_backend("reference");
  const std::string error = testing_support::error_of([&] {
    train_from_checkpoint(config, *make_backend(config), *communicator_, *source_, 7, 1,
                          directory_ / "c");
  });
  EXPECT_THAT(error, HasSubstr("weights"));
}

}  // namespace
}  // namespace strata::training
