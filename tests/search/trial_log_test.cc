#include "search/trial_log.h"

#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "base/files/files.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace strata::search {
namespace {

FinishedRun run(int trial, int stage, Ending ending, double accuracy) {
  return {
      {trial, stage, 5},
      {{"optimizer.lr", "0.1"}, {"optimizer.name", "adam"}},
      {ending, accuracy, 96, 1.5, "/a/result_0.txt", ending == Ending::kFailed ? "why \n" : ""}};
}

class TrialLogTest : public testing_support::TemporaryDirectory {
 protected:
  const std::filesystem::path file_ = directory_ / "trials.jsonl";
};

void expect_equal(const FinishedRun& a, const FinishedRun& b) {
  EXPECT_EQ(a.run, b.run);
  EXPECT_EQ(a.settings, b.settings);
  EXPECT_EQ(a.result.ending, b.result.ending);
  EXPECT_EQ(a.result.accuracy, b.result.accuracy);
  EXPECT_EQ(a.result.samples, b.result.samples);
  EXPECT_EQ(a.result.seconds, b.result.seconds);
  EXPECT_EQ(a.result.log, b.result.log);
  EXPECT_EQ(a.result.message, b.result.message);
}

TEST_F(TrialLogTest, ReadsBackWhatWasWritten) {
  const std::vector<FinishedRun> runs = {run(0, 0, Ending::kMissed, 0.1),
                                         run(2, 1, Ending::kReached, 1.0 / 3),
                                         run(2, kFinals, Ending::kFailed, 0)};
  TrialLog log(file_);
  for (const FinishedRun& each : runs) log.add(each);
  const TrialLog again(file_);
  ASSERT_EQ(again.runs().size(), runs.size());
  for (const FinishedRun& each : runs) {
    ASSERT_NE(again.find(each.run), nullptr);
    expect_equal(*again.find(each.run), each);
  }
  EXPECT_EQ(again.find({2, 0, 5}), nullptr);
}

TEST_F(TrialLogTest, TheLaterLineOfARunCounts) {
  {
    TrialLog log(file_);
    log.add(run(1, 0, Ending::kFailed, 0));
    log.add(run(1, 0, Ending::kMissed, 0.2));
  }
  const TrialLog again(file_);
  ASSERT_EQ(again.runs().size(), 1u);
  EXPECT_EQ(again.find({1, 0, 5})->result.ending, Ending::kMissed);
}

TEST_F(TrialLogTest, ALineCutByACrashIsRepeated) {
  {
    TrialLog log(file_);
    log.add(run(1, 0, Ending::kMissed, 0.2));
    log.add(run(2, 0, Ending::kMissed, 0.3));
  }
  const std::string whole = read_file(file_);
  for (const size_t cut : {size_t{1}, size_t{40}}) {
    std::ofstream(file_) << whole.substr(0, whole.size() - cut);
    {
      TrialLog log(file_);
      EXPECT_NE(log.find({1, 0, 5}), nullptr);
      EXPECT_EQ(log.find({2, 0, 5}), nullptr);
      EXPECT_EQ(read_file(file_).size(), whole.size() - cut) << "reading has changed the file";
      log.add(run(2, 0, Ending::kMissed, 0.3));
    }
    EXPECT_EQ(read_file(file_), whole);
  }
}

// Simulates a disk that fills up in the middle of a line.
TEST_F(TrialLogTest, ALineWithoutSpaceLeavesNoPartOfItself) {
  TrialLog log(file_);
  log.add(run(1, 0, Ending::kMissed, 0.2));
  const std::string before = read_file(file_);
  rlimit unlimited = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limited = unlimited;
  limited.rlim_cur = before.size() + 40;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limited), 0);
  const std::string message =
      testing_support::error_of([&] { log.add(run(2, 0, Ending::kMissed, 0.3)); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(message, file_.string() + ": cannot be written: File too large");
  EXPECT_EQ(read_file(file_), before);
  EXPECT_EQ(log.find({2, 0, 5}), nullptr);
  log.add(run(2, 0, Ending::kMissed, 0.3));
  EXPECT_EQ(TrialLog(file_).runs().size(), 2u);
}

TEST_F(TrialLogTest, ErrorsNameFileAndLine) {
  const std::string good = to_json_line(run(1, 0, Ending::kMissed, 0.2));
  for (const char* bad : {"{}", "[1]", "nonsense"}) {
    std::ofstream(file_) << good << "\n" << bad << "\n";
    const std::string message = testing_support::error_of([&] { TrialLog log(file_); });
    EXPECT_EQ(message.find(file_.string() + ":2: is not a run of a search"), 0u) << message;
  }
  for (const auto& [from, to] :
       {std::pair("\"rung 0\"", "\"rung x\""), std::pair("\"missed\"", "\"won\""),
        std::pair("0.2", "\"much\"")}) {
    std::string bad = good;
    bad.replace(bad.find(from), std::string(from).size(), to);
    testing_support::error_of([&] { from_json_line(bad, "x"); });
  }
}

TEST(RunResults, AreOrdered) {
  const RunResult early{Ending::kReached, 0.4, 100, 9}, late{Ending::kReached, 0.5, 200, 8},
      good{Ending::kMissed, 0.3, 50, 1}, poor{Ending::kMissed, 0.2, 40, 1}, none{};
  const std::vector<RunResult> by_samples = {early, late, good, poor, none};
  for (size_t i = 0; i < by_samples.size(); ++i) {
    for (size_t j = 0; j < by_samples.size(); ++j) {
      EXPECT_EQ(is_better(by_samples[i], by_samples[j], Objective::kSamples), i < j) << i << j;
    }
  }
  EXPECT_TRUE(is_better(late, early, Objective::kSeconds));
}

}  // namespace
}  // namespace strata::search
