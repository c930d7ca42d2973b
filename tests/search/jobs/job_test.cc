#include "search/jobs/job.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <thread>

#include "base/files/files.h"
#include "base/threads/processors.h"
#include "tests/support/temporary_directory.h"

namespace strata::search {
namespace {

class JobTest : public testing_support::TemporaryDirectory {
 protected:
  Job::Options options() const { return {.out = directory_ / "out", .err = directory_ / "err"}; }
  static int wait_for(Job& job) {
    for (int i = 0; i < 3000; ++i) {
      if (const auto code = job.exit_code()) return *code;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return -1;
  }
  // Returns a number from a file when a job has written it.
  pid_t read_pid(const std::string& name) const {
    for (int i = 0; i < 3000; ++i) {
      pid_t pid = 0;
      if (std::ifstream(directory_ / name) >> pid) return pid;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return 0;
  }
};

bool is_gone(pid_t pid) {
  for (int i = 0; i < 500; ++i) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
    std::string number, name, state;
    if (!(status >> number >> name >> state) || state == "Z") return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST_F(JobTest, HasAnExitCodeAndKeepsItsOutput) {
  Job job({"sh", "-c", "echo one two; echo three >&2; exit 7"}, options());
  EXPECT_EQ(wait_for(job), 7);
  EXPECT_EQ(read_file(directory_ / "out"), "one two\n");
  EXPECT_EQ(read_file(directory_ / "err"), "three\n");
  Job killed({"sh", "-c", "kill -9 $$"}, options());
  EXPECT_EQ(wait_for(killed), 128 + SIGKILL);
}

TEST_F(JobTest, AProgramThatIsNotThereIsNamed) {
  Job job({"/no/such/program", "x"}, options());
  EXPECT_EQ(wait_for(job), 127);
  EXPECT_EQ(read_file(directory_ / "err"),
            "strata: cannot start /no/such/program: No such file or directory\n");
}

TEST_F(JobTest, RunsOnTheProcessorsThatItIsGiven) {
  const std::vector<int> own = affinity();
  Job::Options one = options();
  one.processors = {own.back()};
  Job job({"sh", "-c", "grep Cpus_allowed_list /proc/self/status"}, one);
  EXPECT_EQ(wait_for(job), 0);
  EXPECT_EQ(read_file(directory_ / "out"),
            "Cpus_allowed_list:\t" + std::to_string(own.back()) + "\n");
  EXPECT_EQ(affinity(), own);
}

TEST_F(JobTest, IsAskedToEndAndThenKilledWithAllItsProcesses) {
  const std::string file = (directory_ / "pid").string();
  {
    // The shell ends on SIGTERM, but its background process does not.
    Job job({"sh", "-c",
             "trap 'exit 0' TERM; (trap '' TERM; sleep 600) & echo $! > " + file +
                 "; while :; do sleep 0.05; done"},
            options());
    ASSERT_GT(read_pid("pid"), 0);
  }
  EXPECT_TRUE(is_gone(read_pid("pid")));
}

TEST_F(JobTest, SeveralJobsAreEndedAtTheSameTime) {
  std::vector<std::unique_ptr<Job>> jobs;
  Job::Options deaf = options();
  deaf.grace = std::chrono::seconds(2);
  for (const std::string name : {"a", "b", "c", "d"}) {
    const std::string file = (directory_ / name).string();
    jobs.push_back(std::make_unique<Job>(
        std::vector<std::string>{"sh", "-c", "trap '' TERM; echo $$ > " + file + "; sleep 600"},
        deaf));
    ASSERT_GT(read_pid(name), 0);
  }
  const auto begin = std::chrono::steady_clock::now();
  for (const auto& job : jobs) job->tell_to_end();
  jobs.clear();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_TRUE(is_gone(read_pid(name)));
}

TEST_F(JobTest, IsToldToEndWhenItsParentDies) {
  const std::string file = (directory_ / "pid").string();
  const pid_t parent = ::fork();
  if (parent == 0) {
    Job job({"sh", "-c", "echo $$ > " + file + "; exec sleep 600"}, options());
    for (;;) ::pause();
  }
  const pid_t pid = read_pid("pid");
  ASSERT_GT(pid, 0);
  ::kill(parent, SIGKILL);
  EXPECT_TRUE(is_gone(pid));
}

}  // namespace
}  // namespace strata::search
