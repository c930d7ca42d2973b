#include "bench/step/start_benchmark.h"

#include <gmock/gmock.h>

#include "base/files/files.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"
#include "tests/training/tiny_run.h"

namespace strata::bench {
namespace {

class StartBenchmarkTest : public testing_support::TemporaryDirectory {};

TEST_F(StartBenchmarkTest, MeasuresEveryPartAndRemovesItsFiles) {
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

// Another user may have a benchmark under way in the same folder.
TEST_F(StartBenchmarkTest, DoesNotTouchFoldersOfOthers) {
  std::filesystem::create_directories(directory_ / "strata-start");
  config::RunConfig config = training::tiny_run(16);
  benchmark_start(config, {.samples = 200'000, .ranks = 64, .folder = directory_});
  EXPECT_TRUE(std::filesystem::exists(directory_ / "strata-start"));
}

TEST_F(StartBenchmarkTest, AFolderThatCannotBeMadeIsNamed) {
  write_file_atomically(directory_ / "file", "");
  const config::RunConfig config = training::tiny_run(16);
  const std::string error = testing_support::error_of([&] {
    benchmark_start(config, {.samples = 200'000, .ranks = 64, .folder = directory_ / "file"});
  });
  EXPECT_THAT(error, testing::StartsWith((directory_ / "file").string() +
                                         ": cannot make a folder there: "));
}

}  // namespace
}  // namespace strata::bench
