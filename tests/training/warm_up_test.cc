#include "training/warm_up.h"

#include <set>

#include "tests/support/deferred_backend.h"
#include "tests/support/temporary_directory.h"
#include "tests/training/small_training.h"

namespace strata::training {
namespace {

constexpr int kWarmUpSteps = 8;

struct Case {
  const char* name;
  config::OptimizerKind optimizer;
  config::ClipMode clip;
  config::Precision precision;
  int accumulation;
};

class WarmUpTest : public testing_support::TemporaryDirectory,
                   public testing::WithParamInterface<Case> {
 protected:
  WarmUpTest() {
    write_file_atomically(directory_ / "shapes", data::to_text(source_->index().classes()));
  }

  config::RunConfig config(int warmup_steps) const {
    config::RunConfig config = small_run();
    config.optimizer.name = GetParam().optimizer;
    config.clip = {GetParam().clip, 0.3};
    config.model.precision = GetParam().precision;
    config.batch.micro_batch = 4;
    config.batch.gradient_accumulation_steps = GetParam().accumulation;
    config.batch.round_tokens = 16;
    config.initialization.warmup_steps = warmup_steps;
    config.target.max_steps = kWarmUpSteps;
    config.data.eval_samples = source_->size();
    config.data.shapes = directory_ / "shapes";
    return config;
  }
  TrainingHistory run(const config::RunConfig& config, device::Backend& backend) const {
    return train(config, backend, *communicator_, *source_, 7, kWarmUpSteps);
  }

  std::unique_ptr<comm::Communicator> communicator_ = comm::make_single_communicator();
  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(48));
  std::unique_ptr<device::Backend> cpu_ = make_backend(small_run());
};

INSTANTIATE_TEST_SUITE_P(
    Modes, WarmUpTest,
    testing::Values(Case{"adam", config::OptimizerKind::kAdam, config::ClipMode::kNone,
                         config::Precision::kFp32, 1},
                    Case{"adam_clipped", config::OptimizerKind::kAdam,
                         config::ClipMode::kBucketBeforeAllReduce, config::Precision::kFp32, 3},
                    Case{"adam_fp8", config::OptimizerKind::kAdam,
                         config::ClipMode::kBeforeAllReduce, config::Precision::kFp8, 2},
                    Case{"lamb", config::OptimizerKind::kLamb, config::ClipMode::kAfterAllReduce,
                         config::Precision::kFp32, 1},
                    Case{"madgrad", config::OptimizerKind::kMadgrad, config::ClipMode::kNone,
                         config::Precision::kFp32, 1},
                    Case{"acclip", config::OptimizerKind::kAcClip, config::ClipMode::kNone,
                         config::Precision::kFp32, 1},
                    Case{"sgd", config::OptimizerKind::kSgd, config::ClipMode::kNone,
                         config::Precision::kFp32, 1}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_P(WarmUpTest, LeavesNoTrace) {
  const TrainingHistory cold = run(config(0), *cpu_), warm = run(config(3), *cpu_);
  EXPECT_EQ(warm.weights, cold.weights);
  EXPECT_EQ(largest_loss_difference(warm, cold), 0);
  EXPECT_EQ(warm.evaluation.masked_lm.count, cold.evaluation.masked_lm.count);
  EXPECT_EQ(warm.evaluation.mean_loss(), cold.evaluation.mean_loss());
}

TEST_P(WarmUpTest, MicroBatchesAreReplayedFromTheFirstOn) {
  const TrainingHistory issued = run(config(0), *cpu_);
  config::RunConfig launched = config(1);
  launched.device.graphs = true;
  testing_support::DeferredBackend deferred(*cpu_, 3);
  EXPECT_EQ(run(launched, deferred).weights, issued.weights);
  const int first_is_issued =
      GetParam().precision == config::Precision::kFp8 ? 1 : 0;  // it only measures amax
  EXPECT_EQ(deferred.launches(), (kWarmUpSteps - first_is_issued) * GetParam().accumulation);
}

// Records new work: kinds of products, and their numbers of rows unless `rows` is 0. Counts
// allocations.
class TryingDevice : public testing_support::DeferredBackend {
 public:
  TryingDevice(device::Backend& inner, uint64_t seed, int64_t rows = 16)
      : DeferredBackend(inner, seed), rows_(rows) {}

  // Returns how many losses were computed, with or without gradients.
  int classified() const { return classified_; }
  int tries() const { return static_cast<int>(tried_.size()); }
  int allocations() const { return allocations_; }

  void* allocate(size_t bytes) override {
    ++allocations_;
    return DeferredBackend::allocate(bytes);
  }
  void* allocate_host(size_t bytes) override {
    ++allocations_;
    return DeferredBackend::allocate_host(bytes);
  }

  int64_t autotune_row_granularity() const override { return rows_; }
  void linear_forward(device::Stream s, const device::LinearForward& op) override {
    meet(1, op.x, op.y);
    DeferredBackend::linear_forward(s, op);
  }
  void linear_data_gradient(device::Stream s, const device::LinearDataGradient& op) override {
    meet(2, op.dy, op.dx);
    DeferredBackend::linear_data_gradient(s, op);
  }
  void linear_weight_gradient(device::Stream s, const device::LinearWeightGradient& op) override {
    meet(op.accumulate ? 3 : 4, op.dy, op.x);
    DeferredBackend::linear_weight_gradient(s, op);
  }
  void classifier_loss(device::Stream s, const device::ClassifierLoss& op) override {
    ++classified_;
    meet(!op.d_x ? 5 : op.accumulate ? 6 : 7, op.x, op.weight);
    DeferredBackend::classifier_loss(s, op);
  }

 private:
  void meet(int64_t operation, const device::ConstTensor& in, const device::ConstTensor& out) {
    tried_.insert({operation, static_cast<int64_t>(in.dtype), in.cols, out.cols,
                   rows_ > 0 ? (in.rows + rows_ - 1) / rows_ : 0});
  }
  const int64_t rows_;
  std::set<std::array<int64_t, 5>> tried_;
  int allocations_ = 0, classified_ = 0;
};

TEST_P(WarmUpTest, NoTrialsOrAllocationsFollow) {
  config::RunConfig cold = config(1);
  const uint32_t unknown = 0;  // the size of the evaluation set
  for (const auto& [round_tokens, eval_samples] :
       {std::pair(1, source_->size()), std::pair(16, source_->size()), std::pair(16, unknown)}) {
    cold.batch.round_tokens = round_tokens;
    cold.data.eval_samples = eval_samples;
    const bert::ModelOptions options = model_options(cold, small_bert());
    TryingDevice device(*cpu_, 1);
    bert::Model model(small_bert(), device, capacity_of(*source_, 8), options);
    const bert::HostWeights weights = bert::random_weights(model.layout(), 7);
    model.set_weights(weights);
    Trainer trainer(cold, device, model, *communicator_, 7);
    const WarmUp result = warm_up(cold, model, weights, trainer);
    EXPECT_GT(result.tried, 4);
    EXPECT_EQ(result.captured, 0);
    const int tries = device.tries();
    EXPECT_GT(tries, 20);
    trainer.start(*source_);
    Evaluator evaluator(model, *source_, 0, cold.batch.micro_batch, *communicator_);
    const int allocations = device.allocations();
    for (int step = 0; step < kWarmUpSteps; ++step) trainer.step();
    EXPECT_EQ(device.tries(), tries) << "in training";
    EXPECT_EQ(device.allocations(), allocations) << "in training";
    evaluator.evaluate();
    EXPECT_EQ(device.tries(), tries) << "in an evaluation";
    EXPECT_EQ(device.allocations(), allocations) << "in an evaluation";
  }
}

TEST_P(WarmUpTest, RunsTheConfiguredNumberOfSteps) {
  const auto classified = [&](int steps) {
    const config::RunConfig config = this->config(steps);
    TryingDevice device(*cpu_, 1, 0);
    bert::Model model(small_bert(), device, capacity_of(*source_, 8),
                      model_options(config, small_bert()));
    const bert::HostWeights weights = bert::random_weights(model.layout(), 7);
    model.set_weights(weights);
    Trainer trainer(config, device, model, *communicator_, 7);
    warm_up(config, model, weights, trainer);
    return device.classified();
  };
  const int once = classified(1);
  EXPECT_GT(once, 0);
  EXPECT_EQ(classified(0), 0);
  EXPECT_EQ(classified(2), 2 * once);
  EXPECT_EQ(classified(5), 5 * once);
}

// FP8 begins with the second step.
TEST_P(WarmUpTest, TwoStepsHaveEveryKindOfProduct) {
  const config::RunConfig config = this->config(2);
  TryingDevice device(*cpu_, 1, 0);
  bert::Model model(small_bert(), device, capacity_of(*source_, 8),
                    model_options(config, small_bert()));
  const bert::HostWeights weights = bert::random_weights(model.layout(), 7);
  model.set_weights(weights);
  Trainer trainer(config, device, model, *communicator_, 7);
  EXPECT_EQ(warm_up(config, model, weights, trainer).tried, 0);
  const int tries = device.tries();
  trainer.start(*source_);
  for (int step = 0; step < kWarmUpSteps; ++step) trainer.step();
  EXPECT_EQ(device.tries(), tries);
}

// Training does not need the file of shapes.
TEST_P(WarmUpTest, ShapesThatAreNotKnownAreNotPrepared) {
  config::RunConfig config = this->config(1);
  config.data.shapes.reset();
  config.device.graphs = true;
  testing_support::DeferredBackend deferred(*cpu_, 3);
  const TrainingHistory unprepared = run(config, deferred);
  EXPECT_EQ(unprepared.weights, run(this->config(0), *cpu_).weights);
  EXPECT_LT(deferred.launches(), kWarmUpSteps * GetParam().accumulation);
}

}  // namespace
}  // namespace strata::training
