// Tests that the sample backend trains like the cpu backend in f32.
#include <gtest/gtest.h>

#include <cmath>

#include "config/run_config_names.h"
#include "device/registry/backends.h"
#include "tests/training/small_training.h"

namespace strata::training {
namespace {

constexpr int kSteps = 10, kSamples = 48;
constexpr uint64_t kSeed = 7;

class SampleBackendTest : public testing::Test {
 protected:
  TrainingHistory run_on(const char* backend, config::RunConfig config) {
    config.device.backend = &device::find_backend(backend);
    return train(config, *communicator_, *source_, kSeed, kSteps);
  }

  // Uses dropout. Every step's losses and gradient norms must agree within 1e-4.
  void expect_to_train_as_cpu_does(const config::RunConfig& config) {
    const TrainingHistory cpu = run_on("cpu", config), sample = run_on("sample", config);
    ASSERT_EQ(sample.steps.size(), cpu.steps.size());
    for (size_t i = 0; i < cpu.steps.size(); ++i) {
      SCOPED_TRACE(i);
      const bert::Losses &expected = *cpu.steps[i].losses, &got = *sample.steps[i].losses;
      EXPECT_EQ(got.masked_lm.count, expected.masked_lm.count);
      EXPECT_NEAR(got.masked_lm.loss / expected.masked_lm.loss, 1, 1e-4);
      EXPECT_NEAR(got.next_sentence.loss / expected.next_sentence.loss, 1, 1e-4);
      EXPECT_NEAR(*sample.steps[i].gradient_norm / *cpu.steps[i].gradient_norm, 1, 1e-4);
    }
    EXPECT_LT(sample.steps.back().losses->mean_loss(), sample.steps.front().losses->mean_loss());
    EXPECT_NEAR(sample.evaluation.mean_loss() / cpu.evaluation.mean_loss(), 1, 1e-4);
  }

  std::unique_ptr<comm::Communicator> communicator_ = comm::make_single_communicator();
  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(kSamples));
};

TEST_F(SampleBackendTest, TrainsWithEveryOptimizerAsTheCpuBackendDoes) {
  config::RunConfig config = small_run();
  config.clip = {config::ClipMode::kAfterAllReduce, 0.3};
  for (const auto& optimizer : config::choices_of<config::OptimizerKind>()) {
    SCOPED_TRACE(optimizer.name);
    config.optimizer.name = optimizer.value;
    expect_to_train_as_cpu_does(config);
  }
}

}  // namespace
}  // namespace strata::training
