// Tests the rounds before measured steps, on the emulated GPU.
#include "bench/step/step_benchmark.h"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "tests/training/tiny_run.h"

namespace strata::bench {
namespace {

// Returns the number of graph launches while `steps` batches of different shapes are measured.
int launches(int steps, config::Precision precision) {
  config::RunConfig config = training::tiny_run(2);
  config.model.precision = precision;
  config.device.backend = &device::find_backend("cuda");
  config.device.graphs = true;
  config.batch.round_tokens = 16;
  const auto communicator = comm::make_single_communicator();
  emulated_cuda::graph_launches = 0;
  benchmark_steps(config, {.steps = steps}, training::Ranks{*communicator});
  return emulated_cuda::graph_launches;
}

// Each batch is issued once, captured and launched once, and then launched for the measurement. An
// odd number of batches is filled up by one step, so that batches return to their slots.
TEST(StepBenchmark, MeasuresLaunchesAfterAnIssuingAndACapturingRound) {
  EXPECT_EQ(launches(4, config::Precision::kBf16), 4 + 4);
  EXPECT_EQ(launches(5, config::Precision::kBf16), 6 + 5);
}

TEST(StepBenchmark, InFloat8TheFirstStepOnlyMeasuresAmax) {
  EXPECT_EQ(launches(4, config::Precision::kFp8), 4 + 4);
}

}  // namespace
}  // namespace strata::bench
