#include <csignal>
#include <thread>

#include "base/files/files.h"
#include "tests/cli/small_benchmark.h"
#include "tests/support/matchers.h"

namespace strata::cli {
namespace {

constexpr std::chrono::seconds kLimit(60);  // for a job to end in any case

// A job that trains until it is stopped.
class RunningJob : public SmallBenchmark {
 protected:
  void start(int ranks, const std::vector<std::string>& more = {}) {
    std::vector<std::string> endless =
        train({"--set", "target.masked_lm_accuracy=1", "--set", "target.max_steps=100000000",
               "--set", "lr_schedule.training_steps=100000000"});
    endless.insert(endless.end(), more.begin(), more.end());
    job_.emplace(command(endless, ranks));
    // After two evaluations, training is well under way.
    const bool trains = wait_until(
        [&] { return !job_->running() || values_of(events_so_far(), "eval_accuracy").size() >= 2; },
        std::chrono::seconds(200));
    ASSERT_TRUE(trains && job_->running()) << job_->wait(std::chrono::seconds(0)).err;
  }

  // Returns the rank's process; without a launcher that is the job itself.
  pid_t rank(int number) const { return find_rank(job_->pid(), number).value(); }

  void expect_end(int exit_code) {
    const ProcessResult ended = job_->wait(kLimit);
    EXPECT_FALSE(ended.timed_out) << ended.err;
    if (exit_code >= 0) {
      EXPECT_EQ(ended.exit_code, exit_code) << ended.err;
    }
    EXPECT_NE(ended.exit_code, 0) << ended.err;
    messages_ = ended.err;
  }

  // Expects the events before the end, and only run_stop after them. The process that keeps the log
  // may need a moment more than the job.
  void expect_aborted_log(size_t evaluations_before) {
    const bool ended = wait_until(
        [&] { return read_file(result("result_0.txt")).find("run_stop") != std::string::npos; },
        std::chrono::seconds(5));
    EXPECT_TRUE(ended);
    const auto log = events();
    EXPECT_TRUE(ends_with_run_stop(log, "aborted")) << messages_ << log.back();
    EXPECT_GE(values_of(log, "eval_accuracy").size(), evaluations_before);
    EXPECT_EQ(values_of(log, "run_stop").size(), 1u);
  }

  void expect_aborted_log_at(const std::filesystem::path& log) const {
    EXPECT_TRUE(ends_with_run_stop(events(log), "aborted")) << log;
  }

  std::optional<Process> job_;
  std::string messages_;
};

class Signal : public RunningJob, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Each, Signal, testing::Values(SIGINT, SIGTERM, SIGHUP),
                         [](const auto& test) {
                           return test.param == SIGINT    ? "Interrupt"
                                  : test.param == SIGTERM ? "Terminate"
                                                          : "HangUp";
                         });

TEST_P(Signal, EndsARunWithItsLogAborted) {
  start(1);
  job_->signal(GetParam());
  expect_end(128 + GetParam());
  expect_aborted_log(2);
  EXPECT_THAT(messages_, HasSubstr("run_stop aborted"));
  EXPECT_THAT(messages_, HasSubstr("--continue")) << "does not say what to do next";
}

TEST_P(Signal, EndsAJobOfTwoRanksWithItsLogAborted) {
  start(2);
  const pid_t first = rank(0), second = rank(1);
  job_->signal(GetParam());
  expect_end(-1);
  expect_aborted_log(2);
  EXPECT_TRUE(wait_until([&] { return !exists(first) && !exists(second); }, kLimit));
}

TEST_F(RunningJob, AKilledRankEndsTheJobWithTheLogAborted) {
  start(2);
  const pid_t first = rank(0);
  ::kill(rank(1), SIGKILL);
  expect_end(-1);
  expect_aborted_log(2);
  EXPECT_TRUE(wait_until([&] { return !exists(first); }, kLimit));
}

TEST_F(RunningJob, AKilledFirstRankEndsTheJobWithTheLogAborted) {
  start(2);
  const pid_t second = rank(1);
  const auto before = events_so_far();
  ::kill(rank(0), SIGKILL);
  expect_end(-1);
  EXPECT_TRUE(wait_until([&] { return !exists(second); }, kLimit));
  expect_aborted_log(2);
  const auto after = events();
  ASSERT_GT(after.size(), before.size());
  EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
}

TEST_F(RunningJob, AKilledRunEndsItsLogAborted) {
  start(1);
  const auto before = events_so_far();
  job_->signal(SIGKILL);
  expect_end(128 + SIGKILL);
  expect_aborted_log(2);
  const auto after = events();
  ASSERT_GT(after.size(), before.size());
  EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
}

TEST_F(RunningJob, AStoppedRankIsNamedAndEndsTheJobAndItsLogAsAborted) {
  start(2, {"--set", "run.stall_seconds=3"});
  ::kill(rank(1), SIGSTOP);
  expect_end(2);
  expect_aborted_log(2);
  EXPECT_THAT(messages_, HasSubstr("rank 1 in none"));
  EXPECT_THAT(messages_, HasSubstr("rank 0 waits in an all-reduce"));
}

TEST_F(RunningJob, AJobStoppedForLongerThanAStallContinues) {
  start(2, {"--set", "run.stall_seconds=3"});
  const pid_t ranks[] = {rank(0), rank(1)};
  for (const pid_t process : ranks) ::kill(process, SIGSTOP);
  const size_t before = events_so_far().size();
  std::this_thread::sleep_for(std::chrono::seconds(5));
  for (const pid_t process : ranks) ::kill(process, SIGCONT);
  EXPECT_TRUE(wait_until([&] { return !job_->running() || events_so_far().size() >= before + 20; },
                         kLimit));
  EXPECT_TRUE(job_->running()) << job_->wait(std::chrono::seconds(0)).err;
}

TEST_F(RunningJob, ASecondJobWithTheSameOutputIsRefused) {
  start(1);
  const std::vector<std::string> files = output_files();
  for (const auto& more : {std::vector<std::string>{}, {"--continue"}}) {
    expect_refusal(strata(train(more)), {result("").parent_path().string(), "another job"});
  }
  EXPECT_EQ(output_files(), files);
  EXPECT_TRUE(job_->running());
  job_->signal(SIGKILL);
  expect_end(128 + SIGKILL);
  expect_aborted_log(2);
  EXPECT_EQ(strata(train({"--continue"})).exit_code, 0) << "the killed job still holds it";
  EXPECT_TRUE(ends_with_run_stop(events(), "success"));
  expect_aborted_log_at(result("result_0.txt.interrupted.1"));
}

TEST_F(RunningJob, RanksEndWhenTheirLauncherIsKilled) {
  start(2);
  const pid_t first = rank(0), second = rank(1);
  job_->signal(SIGKILL);
  expect_end(128 + SIGKILL);
  EXPECT_TRUE(wait_until([&] { return !exists(first) && !exists(second); }, kLimit));
  expect_aborted_log(2);
}

}  // namespace
}  // namespace strata::cli
