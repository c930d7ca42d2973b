#include "harness/record/experiment_log.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/files/files.h"
#include "harness/record/run_log.h"
#include "tests/harness/record/events_of.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace strata::harness {
namespace {

using testing_support::allocations_left;

class RunLogTest : public testing_support::TemporaryDirectory {
 protected:
  std::vector<nlohmann::json> events() const { return events_of(path_); }
  void expect_last_is_run_stop(const std::string& status) const {
    const auto last = events().back();
    EXPECT_EQ(last["key"], "run_stop");
    EXPECT_EQ(last["metadata"]["status"], status);
  }

  const std::filesystem::path path_ = directory_ / "result_0.txt";
};

TEST_F(RunLogTest, TheEndOfARunIsLoggedOnceWithItsStatus) {
  for (const bool success : {true, false}) {
    {
      ExperimentLog log(path_);
      log.run_start();
      log.run_stop(success, 640);
      log.run_stop(!success, 1);
    }
    EXPECT_EQ(events().size(), 2u);
    expect_last_is_run_stop(success ? "success" : "aborted");
    EXPECT_EQ(events().back()["metadata"]["epoch_num"], 640);
    std::filesystem::remove(path_);
  }
}

// A limit on the size of files simulates a full disk.
class FullDisk : public RunLogTest {
 protected:
  FullDisk() { getrlimit(RLIMIT_FSIZE, &before_); }
  ~FullDisk() override { give_space(); }
  void fill() {
    const rlimit limit{std::filesystem::file_size(path_), before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    testing::internal::CaptureStderr();
  }
  void give_space() { setrlimit(RLIMIT_FSIZE, &before_); }
  static void log_seed(ExperimentLog& log, int64_t seed) {
    log.write([&](mllog::LogWriter& events) { events.event("seed", seed); });
  }

 private:
  rlimit before_;
};

TEST_F(FullDisk, RunStopKeepsItsTimeWhileItWaitsForSpace) {
  ExperimentLog log(path_);
  log.run_start();
  fill();
  log_seed(log, 1);
  log.run_stop(true, 640);
  const double logged = log.logged_seconds();
  EXPECT_EQ(events().size(), 1u);
  EXPECT_EQ(std::ranges::count(log.text(), '\n'), 3);
  {
    std::jthread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      give_space();
    });
    log.require_run_stop();
  }
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(events().size(), 3u);
  expect_last_is_run_stop("success");
  const auto all = events();
  EXPECT_NEAR((all[2]["time_ms"].get<double>() - all[0]["time_ms"].get<double>()) * 1e-3, logged,
              1e-9);
  EXPECT_LT(logged, 0.4);
}

TEST_F(FullDisk, ALogWithoutSpaceForItsEndLooksIncomplete) {
  {
    ExperimentLog log(path_);
    log.run_start();
    for (int i = 0; i < 20; ++i) log_seed(log, i);  // the limit leaves room for more events
    fill();
    log_seed(log, 1);
    log.run_stop(true, 640);
    std::string error;
    try {
      log.require_run_stop(std::chrono::seconds(0));
    } catch (const Error& e) {
      error = e.what();
    }
    EXPECT_TRUE(error.starts_with(path_.string() + ": the run has ended, but its last events"))
        << error;
    EXPECT_THAT(error, HasSubstr("File too large"));
  }
  give_space();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("lacks the last 2 events before run_stop"));
  EXPECT_EQ(events().size(), 21u);  // the limit leaves no room for run_stop aborted
}

TEST_F(FullDisk, EventsWaitOnlyWhileARunIsOn) {
  ExperimentLog log(path_);
  log_seed(log, 0);
  fill();
  EXPECT_THROW(log_seed(log, 1), Error);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(RunLogTest, ARunLeftByAnExceptionIsAborted) {
  try {
    ExperimentLog log(path_);
    log.run_start();
    log.write([](mllog::LogWriter& events) { events.event("seed", int64_t{1}); });
    fail("the data went away");
  } catch (const Error&) {
  }
  EXPECT_EQ(events().size(), 3u);
  expect_last_is_run_stop("aborted");
}

// Every allocation while a run's end is written may fail.
TEST_F(RunLogTest, AFailedAllocationStillLogsTheEndOfTheRun) {
  int failed = 0;
  for (const bool stops : {true, false}) {
    bool fails = true;
    for (int at = 0; fails; ++at) {
      std::optional<ExperimentLog> log(std::in_place, path_);
      log->run_start();
      allocations_left = at;
      if (stops) {
        log->run_stop(true, 640);
      } else {
        log.reset();
      }
      fails = allocations_left < 0;
      allocations_left = -1;
      log.reset();
      failed += fails;
      EXPECT_EQ(events().size(), 2u) << at;
      expect_last_is_run_stop(stops ? "success" : "aborted");
      std::filesystem::remove(path_);
    }
  }
  EXPECT_GE(failed, 10);
}

TEST_F(RunLogTest, AFailedAllocationAtTheStartLeavesNoLog) {
  bool fails = true;
  int failed = 0;
  for (int at = 0; fails; ++at) {
    allocations_left = at;
    try {
      ExperimentLog log(path_);
    } catch (const std::exception&) {
    }
    fails = allocations_left < 0;
    allocations_left = -1;
    failed += fails;
    EXPECT_FALSE(std::filesystem::exists(path_)) << at;
  }
  EXPECT_GE(failed, 3);
}

TEST_F(RunLogTest, ARunThatNeverStartedLeavesNoLog) {
  try {
    ExperimentLog log(path_);
    log.write([](mllog::LogWriter& events) { events.start(log_keys::kInitStart); });
    EXPECT_TRUE(std::filesystem::exists(path_));
    fail("no such checkpoint");
  } catch (const Error&) {
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(RunLogTest, ALogThatIsThereAlreadyIsNotTouched) {
  write_file_atomically(path_, "an older result\n");
  EXPECT_THROW(ExperimentLog{path_}, Error);
  EXPECT_EQ(read_file(path_), "an older result\n");
}

TEST_F(RunLogTest, WithoutAPathNothingIsWritten) {
  ExperimentLog log;
  log.run_start();
  log.run_stop(true, 1);
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

// Returns how a process ends that gets a signal during its run, or, without `start`, before it.
int signalled(int number, bool start, const std::filesystem::path& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    ExperimentLog log(path);
    log.write([](mllog::LogWriter& events) { events.start(log_keys::kInitStart); });
    if (start) log.run_start();
    ::raise(number);
    // Training continues until the watching thread ends the process.
    for (int i = 0; i < 100'000; ++i) {
      log.write([](mllog::LogWriter& events) { events.event("seed", int64_t{1}); });
      ::usleep(200);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(RunLogTest, ASignalEndsTheProcessWithTheLogAborted) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EQ(signalled(number, true, path_), 128 + number);
    EXPECT_GE(events().size(), 3u);
    expect_last_is_run_stop("aborted");
    std::filesystem::remove(path_);
  }
}

TEST_F(RunLogTest, ASignalBeforeTheRunLeavesNoLog) {
  write_file_atomically(directory_ / "result_0.yaml", "a: 1\n");
  write_file_atomically(directory_ / "result_1.yaml", "a: 1\n");
  EXPECT_EQ(signalled(SIGTERM, false, path_), 128 + SIGTERM);
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "result_0.yaml")) << "of the same run";
  EXPECT_TRUE(std::filesystem::exists(directory_ / "result_1.yaml"));
}

}  // namespace
}  // namespace strata::harness
