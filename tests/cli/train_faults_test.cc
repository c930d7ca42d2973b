// Training whose calls fail; scripts/campaigns/faults fails them all.
#include <cerrno>
#include <chrono>
#include <filesystem>

#include "tests/cli/faults.h"
#include "tests/cli/small_benchmark.h"

namespace strata::cli {
namespace {

class TrainFaults : public SmallBenchmark {};

TEST_F(TrainFaults, WithoutAThreadARunSaysSoAndLeavesNoRunOpen) {
  STRATA_NEEDS_FAULTS();
  const auto words = command(train({"--set", "target.max_steps=4", "--set", "device.threads=2"}));
  int failed = 0;
  for (int at = 1;; ++at) {
    std::filesystem::remove_all(path("out"));
    const FaultyRun run = run_with({"thread", at, EAGAIN}, words, path("report"));
    if (!run.failed) break;
    ++failed;
    EXPECT_EQ(run.result.exit_code, 2) << at << ": " << run.result.err;
    EXPECT_NE(run.result.err.find("thread"), std::string::npos) << at << ": " << run.result.err;
    EXPECT_EQ(run.result.err.find("unexpected"), std::string::npos) << run.result.err;
    if (std::filesystem::exists(result("result_0.txt"))) {
      // By the keeper of the log, where a library has ended the process.
      const auto ended = [&] { return ends_with_run_stop(events(), "aborted"); };
      EXPECT_TRUE(wait_until(ended, std::chrono::seconds(20))) << at;
    }
  }
  EXPECT_GE(failed, 4);
}

}  // namespace
}  // namespace strata::cli
