#include "search/jobs/train_jobs.h"

#include <fmt/ranges.h>

#include <chrono>
#include <set>
#include <thread>

#include "base/files/files.h"
#include "base/threads/processors.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace strata::search {
namespace {

// Uses a shell script as `strata`; tests/cli/search_test.cc runs the real one.
class TrainJobsTest : public testing_support::TemporaryDirectory {
 protected:
  TrainJobsTest() {
    write_file_atomically(directory_ / "run.yaml",
                          "model:\n  config: tiny\ndata:\n  train: t.hdf5\n  eval: e.hdf5\n"
                          "batch:\n  micro_batch: 8\n");
    plan_.config = directory_ / "run.yaml";
    plan_.ranks = 2;
    plan_.rungs = {50, 100, 400};
    plan_.evaluate_every = 32;
    options_ = {.folder = directory_ / "out",
                .config = plan_.config,
                .strata = script("exit 0"),
                .launcher = {"env"}};
  }
  std::filesystem::path script(const std::string& text) const {
    const std::filesystem::path path = directory_ / "strata.sh";
    write_file_atomically(path, "#!/bin/sh\n" + text + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  std::string command(const TrialRun& run, const Settings& settings, int64_t samples) const {
    const TrainJobs jobs(plan_, options_);
    return fmt::format("{} ", fmt::join(jobs.command_of(run, settings, samples, 0), " "));
  }
  RunResult result_of(const std::string& text) {
    options_.strata = script(text);
    TrainJobs jobs(plan_, options_);
    jobs.start({1, 0, 9}, {}, 50);
    for (int i = 0; i < 3000; ++i) {
      if (const auto ended = jobs.poll()) return ended->result;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "the job does not end";
    return {};
  }

  SearchPlan plan_;
  TrainJobOptions options_;
};

TEST_F(TrainJobsTest, OnlyTheLastRungIsEvaluatedBeforeItsEnd) {
  const std::string first = command({1, 0, 9}, {{"optimizer.lr", "0.5"}}, 50);
  EXPECT_THAT(first, HasSubstr(" --set optimizer.lr=0.5 "));
  EXPECT_THAT(first, HasSubstr(" run.seed=9 "));
  // 50 samples in steps of 2 ranks x 8.
  EXPECT_THAT(first, HasSubstr(" target.max_steps=4 "));
  EXPECT_THAT(first, HasSubstr(" target.eval_interval_samples=50 "));
  EXPECT_THAT(first, HasSubstr(" target.start_eval_at_sample=0 "));
  for (const int stage : {2, kFinals}) {
    const std::string last = command({1, stage, 9}, {}, 400);
    EXPECT_THAT(last, HasSubstr(" target.max_steps=25 "));
    EXPECT_THAT(last, HasSubstr(" target.eval_interval_samples=32 "));
    EXPECT_THAT(last, HasSubstr(" target.start_eval_at_sample=100 "));
  }
}

TEST_F(TrainJobsTest, StepsFollowTheBatchOfTheTrial) {
  EXPECT_THAT(command({1, 0, 9}, {{"batch.micro_batch", "25"}}, 50),
              HasSubstr(" target.max_steps=1 "));
}

TEST_F(TrainJobsTest, TheLauncherReceivesRanksAndSlot) {
  options_.launcher = {"mpirun", "--host", "node{slot}:{ranks}", "-n", "{ranks}"};
  const TrainJobs jobs(plan_, options_);
  const auto command = jobs.command_of({1, 0, 9}, {}, 50, 3);
  EXPECT_EQ(std::vector<std::string>(command.begin(), command.begin() + 5),
            (std::vector<std::string>{"mpirun", "--host", "node3:2", "-n", "2"}));
  options_.launcher.clear();
  EXPECT_EQ(TrainJobs(plan_, options_).command_of({1, 0, 9}, {}, 50, 3)[0], "mpirun");
  plan_.ranks = 1;
  EXPECT_EQ(TrainJobs(plan_, options_).command_of({1, 0, 9}, {}, 50, 3)[0],
            options_.strata.string());
}

TEST_F(TrainJobsTest, TheEndOfARunIsReadFromItsResult) {
  const std::string result =
      R"(echo '{"experiments": [{"reached_target": %s, "accuracy": 0.25, "samples": 48, "seconds": 2.5, "log": "/l"}]}')";
  const auto with = [&](const char* reached, int exit_code) {
    std::string text = result;
    text.replace(text.find("%s"), 2, reached);
    return result_of(text + "; exit " + std::to_string(exit_code));
  };
  const RunResult reached = with("true", 0), missed = with("false", 1);
  EXPECT_EQ(reached.ending, Ending::kReached);
  EXPECT_EQ(reached.accuracy, 0.25);
  EXPECT_EQ(reached.samples, 48);
  EXPECT_EQ(reached.seconds, 2.5);
  EXPECT_EQ(reached.log, "/l");
  EXPECT_EQ(missed.ending, Ending::kMissed);
}

TEST_F(TrainJobsTest, AFailedRunKeepsItsErrorMessage) {
  const RunResult refused = result_of("echo 'strata: no such file' >&2; echo more >&2; exit 2");
  EXPECT_EQ(refused.ending, Ending::kFailed);
  EXPECT_EQ(refused.message.find("exit code 2: strata: no such file"), 0u) << refused.message;
  const RunResult silent = result_of("exit 0");
  EXPECT_EQ(silent.ending, Ending::kFailed);
  EXPECT_EQ(silent.message.find("exit code 0: no message"), 0u) << silent.message;
  const RunResult odd = result_of("echo '{\"experiments\": [{\"accuracy\": null}]}'");
  EXPECT_EQ(odd.ending, Ending::kFailed);
}

TEST_F(TrainJobsTest, ARunThatTakesTooLongIsEndedAndHasFailed) {
  options_.limit = 0.5;
  const RunResult slow = result_of("echo 'train: step 3/9' >&2; exec sleep 600");
  EXPECT_EQ(slow.ending, Ending::kFailed);
  EXPECT_EQ(slow.message,
            "ended after 0.5 s, the limit (--limit); its last message: step 3/9 (" +
                (directory_ / "out" / "trial_001" / "rung_0" / "messages.txt").string() + ")");
}

TEST_F(TrainJobsTest, LeftoversOfAnInterruptedRunAreRemoved) {
  TrainJobs jobs(plan_, options_);
  const auto left = jobs.folder_of({1, 0, 9}) / "Strata" / "result_0.txt";
  write_file_atomically(left, "half");
  result_of("exit 2");
  EXPECT_FALSE(std::filesystem::exists(left));
}

TEST_F(TrainJobsTest, SlotsShareTheProcessors) {
  const std::vector<int> own = affinity();
  if (own.size() < 2) GTEST_SKIP() << "one processor cannot be shared";
  plan_.ranks = 1;
  options_.launcher.clear();
  options_.slots = 2;
  options_.strata = script("grep Cpus_allowed_list /proc/self/status >&2");
  std::set<std::string> said;
  {
    TrainJobs jobs(plan_, options_);
    jobs.start({1, 0, 9}, {}, 50);
    jobs.start({2, 0, 9}, {}, 50);
    for (int ended = 0; ended < 2;) ended += jobs.poll().has_value();
    for (const int trial : {1, 2}) {
      said.insert(read_file(jobs.folder_of({trial, 0, 9}) / "messages.txt"));
    }
  }
  EXPECT_EQ(said.size(), 2u);
  EXPECT_EQ(affinity(), own);
}

TEST_F(TrainJobsTest, ProgressIsTheLastLineOfTheRun) {
  TrainJobs jobs(plan_, options_);
  write_file_atomically(jobs.folder_of({1, 0, 9}) / "messages.txt",
                        "train: step 1/4, loss 9\ntrain: step 2/4, loss 8\nother\n");
  EXPECT_EQ(jobs.progress_of({1, 0, 9}), "step 2/4, loss 8");
  EXPECT_EQ(jobs.progress_of({2, 0, 9}), "");
}

}  // namespace
}  // namespace strata::search
