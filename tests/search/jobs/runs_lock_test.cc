#include "search/jobs/runs_lock.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "base/files/files.h"
#include "search/jobs/job.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace strata::search {
namespace {

using std::chrono::seconds;

class RunsLockTest : public testing_support::TemporaryDirectory {
 protected:
  RunsLockTest() { write_file_atomically(file_, "{}"); }

  // Runs a search that starts a job and is then killed. The job takes a second to end.
  void killed_search() const {
    const pid_t search = ::fork();
    if (search == 0) {
      const RunsLock lock(file_, seconds(0), {});
      const Job job(
          {"sh", "-c",
           "trap 'sleep 1; touch " + left_.string() + "; exit 0' TERM; touch " + begun_.string() +
               "; while :; do sleep 0.05; done"},
          {.out = directory_ / "out", .err = directory_ / "err", .inherited = lock.descriptor()});
      for (;;) ::pause();
    }
    for (int i = 0; i < 3000 && !std::filesystem::exists(begun_); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_TRUE(std::filesystem::exists(begun_));
    ::kill(search, SIGKILL);
    ::waitpid(search, nullptr, 0);
  }

  const std::filesystem::path file_ = directory_ / "plan.json", begun_ = directory_ / "begun",
                              left_ = directory_ / "left";
};

TEST_F(RunsLockTest, WaitsForTheRunsOfASearchThatWasKilled) {
  killed_search();
  int waits = 0;
  const RunsLock lock(file_, seconds(60), [&] { ++waits; });
  EXPECT_EQ(waits, 1);
  EXPECT_TRUE(std::filesystem::exists(left_)) << "the run still goes on";
}

TEST_F(RunsLockTest, DoesNotWaitForEver) {
  const RunsLock held(file_, seconds(0), {});
  const std::string message =
      testing_support::error_of([&] { RunsLock lock(file_, seconds(0), {}); });
  EXPECT_EQ(message, directory_.string() +
                         ": runs of a killed search still use its folder; end them, or wait");
}

TEST_F(RunsLockTest, EndsWithItsSearchIfNoRunIsLeft) {
  { const RunsLock lock(file_, seconds(0), {}); }
  EXPECT_NO_THROW(RunsLock(file_, seconds(0), {}));
}

}  // namespace
}  // namespace strata::search
