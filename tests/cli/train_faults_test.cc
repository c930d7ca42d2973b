// Tests training with failing calls. scripts/campaigns/faults tries all calls.
#include <sys/resource.h>
#include <time.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "base/files/files.h"
#include "tests/cli/faults.h"
#include "tests/cli/small_benchmark.h"
#include "tests/support/matchers.h"

namespace strata::cli {
namespace {

class TrainFaults : public SmallBenchmark {};

TEST_F(TrainFaults, AFailedThreadIsReportedAndTheLogIsClosed) {
  STRATA_NEEDS_FAULTS();
  const auto words = command(train({"--set", "target.max_steps=4", "--set", "device.threads=2"}));
  int failed = 0;
  for (int at = 1;; ++at) {
    std::filesystem::remove_all(path("out"));
    const FaultyRun run = run_with({"thread", at, EAGAIN}, words, path("report"));
    if (!run.failed) break;
    ++failed;
    EXPECT_EQ(run.result.exit_code, 2) << at << ": " << run.result.err;
    EXPECT_THAT(run.result.err, HasSubstr("thread")) << at;
    EXPECT_THAT(run.result.err, Not(HasSubstr("unexpected")));
    // If a library has ended the process, the log's keeper ends the log, or removes the log of a run
    // that had not begun.
    const auto ended = [&] {
      return !std::filesystem::exists(result("result_0.txt")) ||
             ends_with_run_stop(events_so_far(), "aborted");
    };
    EXPECT_TRUE(wait_until(ended, std::chrono::seconds(20))) << at;
  }
  EXPECT_GE(failed, 4);
}

// Waits until the process has computed for so long, however busy the machine is.
bool computes_for(pid_t process, std::chrono::milliseconds time) {
  clockid_t clock;
  if (::clock_getcpuclockid(process, &clock) != 0) return false;
  const auto now = [&] {
    timespec used{};
    ::clock_gettime(clock, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
  };
  const auto begin = now();
  return wait_until([&] { return now() - begin >= time; }, std::chrono::seconds(100));
}

// A limit on the size of files, set from outside, simulates a full disk.
TEST_F(TrainFaults, ADiskThatIsFullForAMomentEndsNothing) {
  const auto words = command(
      train({"--set", "target.masked_lm_accuracy=1", "--set", "target.max_steps=3000", "--set",
             "lr_schedule.training_steps=3000", "--set", "target.eval_interval_samples=6000",
             "--set", "log.step_trace=true", "--set", "log.tensorboard=true", "--set",
             "log.save_checkpoint=true", "--set", "checkpoint.every_steps=50"}));
  Process job(words);
  const std::filesystem::path trace = result("result_0.steps.jsonl");
  const auto size = [&] {
    std::error_code absent;
    const auto bytes = std::filesystem::file_size(trace, absent);
    return absent ? 0 : bytes;
  };
  ASSERT_TRUE(wait_until([&] { return size() > 30'000; }, std::chrono::seconds(100)));
  rlimit before;
  ASSERT_EQ(::prlimit(job.pid(), RLIMIT_FSIZE, nullptr, &before), 0);
  const rlimit full{size() + 1000, before.rlim_max};
  ASSERT_EQ(::prlimit(job.pid(), RLIMIT_FSIZE, &full, nullptr), 0);
  ASSERT_TRUE(computes_for(job.pid(), std::chrono::milliseconds(300)));
  ASSERT_TRUE(job.running());
  ASSERT_EQ(::prlimit(job.pid(), RLIMIT_FSIZE, &before, nullptr), 0);
  const ProcessResult ended = job.wait(std::chrono::seconds(200));
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  for (const char* file : {"result_0.steps.jsonl: step", "tfevents", "are missing: File too large"})
    EXPECT_THAT(ended.err, HasSubstr(file)) << file;
  std::istringstream lines(read_file(trace));
  int64_t last = 0, missing = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(json.is_object()) << line;
    const int64_t step = json["step"];
    missing += step - last - 1;
    last = step;
  }
  EXPECT_EQ(last, 3000);
  EXPECT_GT(missing, 0);
  EXPECT_TRUE(std::filesystem::exists(result("result_0.safetensors")));
  EXPECT_TRUE(ends_with_run_stop(events(), "aborted"));
}

// Only the log exceeds the limit, so its events wait.
TEST_F(TrainFaults, ALogThatCannotGrowForAMomentIsWholeInTheEnd) {
  Process job(command(
      train({"--set", "target.masked_lm_accuracy=1", "--set", "target.max_steps=3000", "--set",
             "lr_schedule.training_steps=3000", "--set", "target.eval_interval_samples=600"})));
  const std::filesystem::path log = result("result_0.txt");
  const auto size = [&] {
    std::error_code absent;
    const auto bytes = std::filesystem::file_size(log, absent);
    return absent ? 0 : bytes;
  };
  ASSERT_TRUE(wait_until([&] { return size() > 20'000; }, std::chrono::seconds(100)));
  rlimit before;
  ASSERT_EQ(::prlimit(job.pid(), RLIMIT_FSIZE, nullptr, &before), 0);
  const rlimit full{size() + 100, before.rlim_max};
  ASSERT_EQ(::prlimit(job.pid(), RLIMIT_FSIZE, &full, nullptr), 0);
  ASSERT_TRUE(computes_for(job.pid(), std::chrono::milliseconds(500)));
  ASSERT_TRUE(job.running());
  EXPECT_LE(size(), full.rlim_cur);
  ASSERT_EQ(::prlimit(job.pid(), RLIMIT_FSIZE, &before, nullptr), 0);
  const ProcessResult ended = job.wait(std::chrono::seconds(200));
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  for (const char* part : {"events wait in memory until there is space",
                           "the events that waited for space are written"})
    EXPECT_THAT(ended.err, HasSubstr(part)) << part;
  int starts = 0, stops = 0;
  for (const auto& event : events()) {
    starts += event["key"] == "eval_start";
    stops += event["key"] == "eval_stop";
  }
  EXPECT_EQ(starts, stops);
  EXPECT_GT(stops, 10);
  EXPECT_TRUE(ends_with_run_stop(events(), "aborted"));
  EXPECT_EQ(run(command({"check", "log", log.string()})).exit_code, 0);
}

}  // namespace
}  // namespace strata::cli
