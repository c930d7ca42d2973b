#include "bench/step/start_benchmark.h"

#include "tests/support/temporary_directory.h"
#include "tests/training/tiny_run.h"

namespace strata::bench {
namespace {

class StartBenchmarkTest : public testing_support::TemporaryDirectory {};

TEST_F(StartBenchmarkTest, MeasuresEveryPartAndLeavesNothing) {
  config::RunConfig config = training::tiny_run(16);
  config.batch.load_balance.strategy = config::BalanceStrategy::kPlanned;
  const StartBenchmark result =
      benchmark_start(config, {.samples = 200'000, .ranks = 64, .folder = directory_});
  EXPECT_NEAR(static_cast<double>(result.index_bytes), 200'000 * 8, 40'000);
  // 15 % of 253 tokens on average, at most 76.
  EXPECT_NEAR(static_cast<double>(result.masked) / (64 * 16), 37, 4);
  for (const double seconds : {result.make, result.open, result.plan, result.find, result.read}) {
    EXPECT_GT(seconds, 0);
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

}  // namespace
}  // namespace strata::bench
