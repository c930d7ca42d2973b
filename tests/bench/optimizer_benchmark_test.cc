#include "bench/operations/optimizer_benchmark.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "bert/parameters/parameters.h"
#include "device/registry/backends.h"
#include "tests/training/tiny_run.h"

namespace strata::bench {
namespace {

config::RunConfig run_of(config::OptimizerKind optimizer) {
  config::RunConfig config = training::tiny_run(1);
  config.optimizer.name = optimizer;
  return config;
}

int64_t elements(bool decay) {
  const bert::ParameterLayout layout(bert::load_bert_config("tiny"));
  int64_t sum = 0;
  for (const bert::ParameterSegment& segment : layout.segments()) {
    if (segment.decay == decay) sum += segment.size;
  }
  return sum;
}

TEST(OptimizerBenchmark, AdamReadsFourArraysAndWritesThree) {
  std::vector<int> rounds;
  const OptimizerBenchmark result = benchmark_optimizer(run_of(config::OptimizerKind::kAdam), 3,
                                                        [&](int done) { rounds.push_back(done); });
  EXPECT_EQ(rounds, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(result.parameters, elements(true) + elements(false));
  EXPECT_EQ(result.memory_bytes, 16 * result.parameters);
  EXPECT_EQ(result.update_bytes, 28 * result.parameters);
  for (const double seconds : {result.norm, result.update, result.norm_and_update, result.plain}) {
    EXPECT_GT(seconds, 0);
  }
  EXPECT_DOUBLE_EQ(result.share_of_plain(),
                   result.update_bytes_per_second() / result.plain_bytes_per_second());
}

// The first pass reads w, g, m, v and writes m, v and u, in g's place. The second reads w and u and
// writes w.
TEST(OptimizerBenchmark, LambMakesTwoPassesOverWeightsThatDecay) {
  const config::RunConfig config = run_of(config::OptimizerKind::kLamb);
  EXPECT_EQ(benchmark_optimizer(config, 1).update_bytes,
            40 * elements(true) + 28 * elements(false));
}

// MADGRAD also reads the initial weights.
TEST(OptimizerBenchmark, CountsTheStateOfEveryOptimizer) {
  const int64_t all = elements(true) + elements(false);
  const auto madgrad = benchmark_optimizer(run_of(config::OptimizerKind::kMadgrad), 1);
  EXPECT_EQ(madgrad.update_bytes, 32 * all);
  EXPECT_EQ(madgrad.memory_bytes, 20 * all);
  const auto acclip = benchmark_optimizer(run_of(config::OptimizerKind::kAcClip), 1);
  EXPECT_EQ(acclip.update_bytes, 28 * all);
  EXPECT_EQ(acclip.memory_bytes, 16 * all);
  const auto sgd = benchmark_optimizer(run_of(config::OptimizerKind::kSgd), 1);
  EXPECT_EQ(sgd.update_bytes, 20 * all);
  EXPECT_EQ(sgd.memory_bytes, 12 * all);
}

TEST(OptimizerBenchmark, SaysHowMuchMemoryItTakes) {
  const int64_t all = elements(true) + elements(false);
  EXPECT_EQ(optimizer_benchmark_bytes(run_of(config::OptimizerKind::kAdam)), 16 * all);
  EXPECT_EQ(optimizer_benchmark_bytes(run_of(config::OptimizerKind::kMadgrad)), 20 * all);
}

TEST(OptimizerBenchmark, TheReferenceBackendIsNotMeasured) {
  config::RunConfig config = run_of(config::OptimizerKind::kAdam);
  config.device.backend = &device::find_backend("reference");
  EXPECT_THROW(benchmark_optimizer(config, 1), Error);
}

}  // namespace
}  // namespace strata::bench
