// Training whose calls fail; scripts/campaigns/faults fails them all.
#include <cerrno>
#include <filesystem>

#include "tests/cli/faults.h"
#include "tests/cli/small_benchmark.h"

namespace strata::cli {
namespace {

class TrainFaults : public SmallBenchmark {};

TEST_F(TrainFaults, WithoutAThreadARunSaysSoAndLeavesNoRunOpen) {
  STRATA_NEEDS_FAULTS();
  const auto words = command(train({"--set", "target.max_steps=4", "--set", "device.threads=2"}));
  for (const Fault& call : {Fault{"thread", 0, EAGAIN}}) {
    int failed = 0;
    for (int at = 1;; ++at) {
      std::filesystem::remove_all(path("out"));
      const FaultyRun run = run_with({call.kind, at, call.error}, words, path("report"));
      if (!run.failed) break;
      ++failed;
      EXPECT_EQ(run.result.exit_code, 2) << at << ": " << run.result.err;
      EXPECT_NE(run.result.err.find("thread"), std::string::npos) << at << ": " << run.result.err;
      EXPECT_EQ(run.result.err.find("unexpected"), std::string::npos) << run.result.err;
      if (std::filesystem::exists(result("result_0.txt"))) {
        EXPECT_TRUE(ends_with_run_stop(events(), "aborted")) << at;
      }
    }
    EXPECT_GE(failed, 4);
  }
}

}  // namespace
}  // namespace strata::cli
