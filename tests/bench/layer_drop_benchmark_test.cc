#include "bench/step/layer_drop_benchmark.h"

#include <gtest/gtest.h>

#include <fstream>

#include "bert/blocks/layer_drop.h"
#include "bert/flops.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"
#include "tests/training/tiny_run.h"

namespace strata::bench {
namespace {

using testing_support::error_of;

class LayerDropBenchmarkTest : public testing_support::TemporaryDirectory {
 protected:
  // Returns a run with eight layers of the tiny model's size.
  config::RunConfig run(double theta) const {
    const std::filesystem::path model = directory_ / "model.json";
    std::ofstream(model) << R"({"vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 8,
        "num_attention_heads": 2, "intermediate_size": 256, "max_position_embeddings": 128,
        "type_vocab_size": 2, "hidden_act": "gelu"})";
    config::RunConfig config = training::tiny_run(2);
    config.model.config = model.string();
    config.model.norm = config::NormKind::kPre;
    config.layer_drop.theta = theta;
    config.lr_schedule.training_steps = 1000;
    return config;
  }
};

TEST_F(LayerDropBenchmarkTest, CountsTheLayersThatTrainingKeeps) {
  const LayerDropBenchmark result =
      benchmark_layer_drop(run(0.5), {.steps = 20, .micro_batch_tokens = 128});
  EXPECT_EQ(result.layers, 8);
  EXPECT_EQ(result.tokens, 128);
  EXPECT_EQ(result.gamma, 0.1);
  ASSERT_EQ(result.steps.size(), 20u);
  // The steps cover the whole schedule, not only its first steps, which drop no layer yet.
  EXPECT_EQ(result.steps.front().step, 26u);
  EXPECT_EQ(result.steps.back().step, 976u);
  for (const LayerDropStep& step : result.steps) {
    int kept = 0;
    for (const float scale : bert::layer_scales({.theta = 0.5, .gamma = 0.1}, 1, step.step, 8)) {
      kept += scale > 0;
    }
    EXPECT_EQ(step.kept, kept) << step.step;
    EXPECT_DOUBLE_EQ(step.flops_share(), kept / 8.0);
  }
  // One standard deviation of 160 draws is 0.03.
  EXPECT_NEAR(result.expected_share, 1 - 0.5 * 7 / 16, 0.01);
  EXPECT_NEAR(result.flops_share(), result.expected_share, 0.09);
}

// Timings of a busy machine scatter, but a broken measurement would be far off.
TEST_F(LayerDropBenchmarkTest, TimeFallsWithTheLayers) {
  const LayerDropBenchmark result =
      benchmark_layer_drop(run(0.1), {.steps = 30, .micro_batch_tokens = 2048});
  ASSERT_GT(result.dropped_layer, 0);
  EXPECT_LT(result.dropped_layer, 0.2 * result.kept_layer);
  EXPECT_LT(result.flops_share(), 0.7);
  const Quartiles ratio = result.time_over_flops();
  EXPECT_NEAR(ratio.median, 1, 0.2);
  EXPECT_LE(ratio.lower, ratio.median);
  EXPECT_GE(ratio.upper, ratio.median);
  EXPECT_LT(result.time_share(), 0.85);
}

TEST_F(LayerDropBenchmarkTest, RefusesSettingsThatDropNoLayer) {
  const std::string message = error_of([&] { benchmark_layer_drop(run(1), {}); });
  EXPECT_EQ(message.find("layer_drop.theta is 1: no layer is dropped"), 0u) << message;
}

}  // namespace
}  // namespace strata::bench
