#include "harness/record/log_keeper.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/files/files.h"
#include "harness/record/experiment_log.h"
#include "harness/record/output_lock.h"
#include "harness/record/run_log.h"
#include "tests/harness/record/events_of.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace strata::harness {
namespace {

class LogKeeperTest : public testing_support::TemporaryDirectory {
 protected:
  std::vector<nlohmann::json> events() const { return events_of(path_); }
  void expect_aborted() const {
    EXPECT_EQ(events().back()["key"], "run_stop");
    EXPECT_EQ(events().back()["metadata"]["status"], "aborted");
  }
  // Kills a process that has done `work` while it held the lock and a keeper. Waits until the
  // keeper has ended, too.
  void kill_after(const std::function<void(LogKeeper&)>& work) {
    int alive[2];  // at its end when both have ended
    ASSERT_EQ(::pipe(alive), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(alive[1], STDERR_FILENO);  // the keeper does not close this one
      LogKeeper keeper;
      const OutputLock lock(directory_);
      work(keeper);
      std::raise(SIGKILL);
    }
    ::close(alive[1]);
    char c;
    while (::read(alive[0], &c, 1) > 0) said_ += c;
    ::close(alive[0]);
    ::waitpid(child, nullptr, 0);
  }

  const std::filesystem::path path_ = directory_ / "result_0.txt";
  std::string said_;
};

TEST_F(LogKeeperTest, EndsTheLogOfAKilledProcess) {
  kill_after([&](LogKeeper& keeper) {
    ExperimentLog log(path_, &keeper);
    log.run_start();
    log.write([](mllog::LogWriter& events) { events.event("seed", int64_t{1}); });
    std::raise(SIGKILL);
  });
  ASSERT_EQ(events().size(), 3u);
  expect_aborted();
  EXPECT_GE(events()[2]["time_ms"], events()[1]["time_ms"]);
  EXPECT_THAT(said_,
              HasSubstr(path_.string() + " is gone, so this log ends with run_stop aborted"));
}

TEST_F(LogKeeperTest, ARunThatHadNotBegunLeavesNoLog) {
  kill_after([&](LogKeeper& keeper) {
    ExperimentLog log(path_, &keeper);
    log.write([](mllog::LogWriter& events) { events.start(log_keys::kInitStart); });
    write_file_atomically(std::filesystem::path(path_).replace_extension(".yaml"), "a: 1\n");
    std::raise(SIGKILL);
  });
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(path_).replace_extension(".yaml")));
}

TEST_F(LogKeeperTest, DoesNotChangeAFinishedLog) {
  kill_after([&](LogKeeper& keeper) {
    ExperimentLog log(path_, &keeper);
    log.run_start();
    log.run_stop(true, 10);
    std::raise(SIGKILL);
  });
  ASSERT_EQ(events().size(), 2u);
  EXPECT_EQ(events().back()["metadata"]["status"], "success");
  EXPECT_EQ(said_, "");
}

// Returns a log line; only `key` and `time_ms` matter.
std::string line_of(const std::string& key, const std::string& time_ms) {
  return ":::MLLOG {\"namespace\": \"\", \"time_ms\": " + time_ms +
         ", \"event_type\": \"POINT_IN_TIME\", \"key\": \"" + key +
         "\", \"value\": 1, \"metadata\": {}}\n";
}
const std::string kBegun = line_of("run_start", "1");

TEST_F(LogKeeperTest, DoesNotChangeTheLogAfterItsObjectIsDestroyed) {
  kill_after([&](LogKeeper& keeper) {
    {
      ExperimentLog log(path_, &keeper);
      log.run_start();
    }
    write_file_atomically(path_, kBegun);  // another process's from now on
  });
  EXPECT_EQ(read_file(path_), kBegun);
}

TEST_F(LogKeeperTest, SignalsToTheProcessGroupDoNotReachIt) {
  kill_after([&](LogKeeper& keeper) {
    ::setpgid(0, 0);
    ExperimentLog log(path_, &keeper);
    log.run_start();
    ::kill(0, SIGKILL);
    ::pause();
  });
  expect_aborted();
}

TEST_F(LogKeeperTest, EndsWithItsObject) {
  write_file_atomically(path_, kBegun);
  {
    LogKeeper keeper;
    keeper.keep(path_);
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  EXPECT_EQ(read_file(path_), kBegun);
}

class AbandonedLog : public LogKeeperTest {};

TEST_F(AbandonedLog, LosesAnUnfinishedLineAndKeepsTimesInOrder) {
  const std::string begun = kBegun + line_of("seed", "9000000000000");
  write_file_atomically(path_, begun + line_of("seed", "9000000000000").substr(0, 50));
  EXPECT_TRUE(end_abandoned_log(path_));
  ASSERT_EQ(events().size(), 3u);
  expect_aborted();
  // The clock continues from the latest event, and may advance by some milliseconds.
  EXPECT_GE(events()[2]["time_ms"], 9000000000000);
  EXPECT_LT(events()[2]["time_ms"], 9000000060000);
  EXPECT_FALSE(end_abandoned_log(path_)) << "it has its end";
  EXPECT_EQ(events().size(), 3u);
}

}  // namespace
}  // namespace strata::harness
