#include "harness/time_to_train.h"

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/timing.h"
#include "harness/record/output_lock.h"
#include "tests/harness/fake_training.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"
#include "tests/support/oracle.h"

namespace strata::harness {
namespace {

class TimeToTrain : public TimeToTrainTest {
 protected:
  // Returns the text on standard error while `work` runs.
  template <typename Work>
  static std::string said(const Work& work) {
    testing::internal::CaptureStderr();
    work();
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(TimeToTrain, PrintsRemarksOfAStep) {
  system_.remarkable_step = 4;
  const std::string text = said([&] { run(); });
  const size_t at = text.find("step 4: took a turn\n");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.find("took a turn", at + 10), std::string::npos) << text;
}

TEST_F(TimeToTrain, TrainsInBlocksUntilAnEvaluationReachesTheTarget) {
  const auto results = run();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(results[0].reached_target);
  EXPECT_EQ(results[0].steps, 9) << "evaluated after 3, 6 and 9";
  EXPECT_EQ(results[0].samples, 90);
  EXPECT_EQ(results[0].accuracy, 0.09);
  EXPECT_EQ(system_.calls,
            "prepare warm_up barrier barrier start evaluate evaluate evaluate save ");
  const std::vector<std::string> block = {"block_start", "epoch_start", "epoch_stop", "block_stop",
                                          "eval_start"};
  std::vector<std::string> expected = {"run_start"};
  for (const char* accuracy : {"0.03", "0.06", "0.09"}) {
    expected.insert(expected.end(), block.begin(), block.end());
    expected.push_back(std::string("eval_accuracy=") + accuracy);
    expected.push_back("eval_stop");
  }
  for (const char* last : {"train_samples=90", "eval_samples=7", "run_stop"}) {
    expected.push_back(last);
  }
  EXPECT_EQ(timed_events(), expected);
}

// Samsung's logs at batch 16384 have 179 and 199 steps for evaluations 9 and 10, every 325,000
// samples. Roundings to whole steps do not add up.
TEST_F(TimeToTrain, EvaluatesAfterTheFirstStepThatReachesKIntervals) {
  config_.target.masked_lm_accuracy = 1;
  config_.target.max_steps = 40;
  config_.target.eval_interval_samples = 25;
  config_.target.start_eval_at_sample = 60;
  run();
  std::vector<int64_t> evaluated;
  mllog::LogReader log(tree().log(0), mllog::LogFormat::kMllog);
  log.visit([&](const mllog::Event& event) {
    if (event.key == "eval_start") {
      const std::string metadata(event.metadata);
      evaluated.push_back(nlohmann::json::parse(metadata)["epoch_num"]);
    }
    return true;
  });
  std::vector<int64_t> expected;
  for (int64_t k = 3; 10 * ((25 * k + 9) / 10) <= 400; ++k)
    expected.push_back(10 * ((25 * k + 9) / 10));
  EXPECT_EQ(expected[0], 80) << "75 is the first that is not below 60";
  EXPECT_EQ(evaluated, expected);
}

// Makes standard error a terminal while it lives.
class Terminal {
 public:
  Terminal() {
    int writer;
    const winsize size{.ws_row = 24, .ws_col = 120};
    EXPECT_EQ(::openpty(&reader_, &writer, nullptr, nullptr, &size), 0);
    ::fcntl(reader_, F_SETFL, O_NONBLOCK);
    ::setenv("TERM", "xterm", 1);
    ::dup2(writer, STDERR_FILENO);
    ::close(writer);
  }
  ~Terminal() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    ::close(reader_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Waits until the terminal shows `text`, which takes a moment, and returns all that it shows.
  std::string shows(const char* text) {
    std::string all;
    const auto limit = Clock::now() + std::chrono::seconds(5);
    while (all.find(text) == std::string::npos && Clock::now() < limit) {
      std::array<char, 4096> bytes;
      const ssize_t read = ::read(reader_, bytes.data(), bytes.size());
      if (read > 0) all.append(bytes.data(), static_cast<size_t>(read));
      if (read <= 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return all;
  }

 private:
  int reader_ = -1, before_ = ::dup(STDERR_FILENO);
};

TEST_F(TimeToTrain, ATerminalShowsThatAnEvaluationGoesOn) {
  Terminal terminal;
  std::vector<std::string> shown;
  system_.when_evaluated = [&] { shown.push_back(terminal.shows(", evaluation\x1b[K")); };
  run();
  ASSERT_EQ(shown.size(), 3u);
  for (const std::string& text : shown) {
    EXPECT_TRUE(text.ends_with(", evaluation\x1b[K")) << text;
  }
}

TEST_F(TimeToTrain, ALargeStepMayPassSeveralIntervals) {
  config_.target.masked_lm_accuracy = 1;
  config_.target.max_steps = 3;
  config_.target.eval_interval_samples = 4;
  run();
  EXPECT_EQ(std::ranges::count(timed_events(), "eval_start"), 3);
}

TEST_F(TimeToTrain, CacheClearIsLoggedAsTrueOnlyIfItSucceeded) {
  system_.data = {directory_ / "nowhere"};
  EXPECT_THAT(said([&] { run(); }), HasSubstr("rank 0: the page cache was not cleared: "));
  EXPECT_THAT(read_file(tree().log(0)), HasSubstr("\"cache_clear\", \"value\": false"));
  config_.run.output = directory_ / "clear";
  write_file_atomically(directory_ / "data", "x");
  system_.data = {directory_ / "data"};
  const std::string text = said([&] { run(); });
  EXPECT_THAT(text, HasSubstr("cleared on every node: 1 data file from the page cache"));
  EXPECT_THAT(text, Not(HasSubstr("not cleared")));
  EXPECT_THAT(read_file(tree().log(0)), HasSubstr("\"cache_clear\", \"value\": true"));
}

TEST_F(TimeToTrain, ARunDescribesItselfAndItsProgress) {
  const std::string text = said([&] { run(); });
  size_t at = 0;
  for (const char* line :
       {"device: a fake, 1 rank\n", "experiment 0: seed ",
        "data: 100 training samples and 7 evaluation samples",
        "step 3: accuracy 0.0300 (target 0.0800)", "step 6: accuracy 0.0600", "step 9: accuracy",
        "result_0: success with accuracy 0.0900 (target 0.0800) after 90 samples in "}) {
    const size_t found = text.find(line, at);
    ASSERT_NE(found, std::string::npos) << line << "\nis not said in its turn:\n" << text;
    at = found;
  }
  EXPECT_THAT(text, Not(HasSubstr("results: "))) << "there were none";
  EXPECT_THAT(text, Not(HasSubstr("warning")));
}

// Each of these may take minutes.
TEST_F(TimeToTrain, ShowsThePhasesBeforeTheClockStarts) {
  const std::string text = said([&] { run(); });
  size_t at = 0;
  for (const char* phase : {": clearing the page cache\n", ": reading weights\n", ": warm-up\n"}) {
    const size_t found = text.find(phase, at);
    ASSERT_NE(found, std::string::npos) << phase << "\nis not shown in its turn:\n" << text;
    at = found;
  }
  EXPECT_LT(at, text.find("data: 100 training")) << text;
}

TEST_F(TimeToTrain, AClosedRunWithoutClearedCachesIsRefused) {
  config_.run.division = config::Division::kClosed;
  config_.clip.mode = config::ClipMode::kAfterAllReduce;
  system_.data = {directory_ / "nowhere"};
  const std::string error = testing_support::error_of([&] { run(); });
  EXPECT_THAT(error, HasSubstr("page cache was not cleared on 1"));
  EXPECT_FALSE(std::filesystem::exists(tree().log(0))) << "it did not begin";
}

TEST_F(TimeToTrain, EndsAtTheStepLimitWithoutTheTarget) {
  config_.target.max_steps = 7;
  config_.target.masked_lm_accuracy = 1;
  const auto results = run();
  EXPECT_FALSE(results[0].reached_target);
  EXPECT_EQ(results[0].steps, 7);
  EXPECT_EQ(results[0].accuracy, 0.07) << "an evaluation ends it";
  EXPECT_THAT(read_file(tree().log(0)), HasSubstr("\"status\": \"aborted\""));
}

// The log marks the evaluation at the step limit as such.
TEST_F(TimeToTrain, AnEvaluationOutsideTheScheduleIsNoSuccess) {
  for (const auto division : {config::Division::kOpen, config::Division::kClosed}) {
    config_.run.output = directory_ / name_of(division);
    config_.run.division = division;
    system_.data = {directory_ / "data"};
    write_file_atomically(directory_ / "data", "x");
    config_.target.max_steps = 8;  // reaches the target there; evaluations are after 3, 6, 9
    std::vector<ExperimentResult> results;
    const std::string text = said([&] { results = run(); });
    EXPECT_FALSE(results[0].reached_target);
    EXPECT_EQ(results[0].accuracy, 0.08);
    EXPECT_THAT(text, HasSubstr("step 8: the run ends between two evaluations"));
    const std::string log = read_file(tree().log(0));
    EXPECT_THAT(log, HasSubstr("\"status\": \"aborted\""));
    EXPECT_THAT(log, HasSubstr("\"epoch_num\": 80, \"off_cadence\": true"));
    EXPECT_THAT(log, Not(HasSubstr("\"epoch_num\": 60, \"off_cadence\"")));
  }
}

TEST_F(TimeToTrain, NoRunSucceedsBeforeItsFirstScheduledEvaluation) {
  config_.target.start_eval_at_sample = 150;
  config_.target.max_steps = 14;
  EXPECT_FALSE(run()[0].reached_target) << "14 % at 140 samples";
  config_.run.output = directory_ / "longer";
  config_.target.max_steps = 15;
  EXPECT_TRUE(run()[0].reached_target);
}

TEST_F(TimeToTrain, ADivergedRunIsNoSuccess) {
  config_.target.masked_lm_accuracy = 0.03;
  system_.diverges_at = 3;
  EXPECT_FALSE(run()[0].reached_target);
  EXPECT_THAT(read_file(tree().log(0)), HasSubstr("\"status\": \"aborted\""));
}

// Steps have 10 samples and evaluations come every 25, so blocks end at 30, 50, 80, 100 and 120,
// the last step.
TEST_F(TimeToTrain, ABlockStartSaysHowManySamplesTheBlockTrainsOn) {
  config_.target.masked_lm_accuracy = 1;
  config_.target.eval_interval_samples = 25;
  config_.target.max_steps = 12;
  run();
  std::vector<int64_t> counts;
  mllog::LogReader log(tree().log(0), mllog::LogFormat::kMllog);
  log.visit([&](const mllog::Event& event) {
    if (event.key == "block_start") {
      counts.push_back(nlohmann::json::parse(std::string(event.metadata))["epoch_count"]);
    }
    return true;
  });
  EXPECT_EQ(counts, (std::vector<int64_t>{30, 20, 30, 20, 20}));
}

TEST_F(TimeToTrain, EndsIfTheLossIsNotFinite) {
  system_.diverges_at = 4;
  const auto results = run();
  EXPECT_FALSE(results[0].reached_target);
  EXPECT_EQ(results[0].steps, 4);
}

TEST_F(TimeToTrain, AFailureInTheTimedRegionEndsTheLogAsAborted) {
  system_.fails_at = 4;
  EXPECT_EQ(testing_support::error_of([&] { run(); }), "the device is gone");
  const auto events = timed_events();
  EXPECT_EQ(events.back(), "run_stop");
  EXPECT_THAT(read_file(tree().log(0)), HasSubstr("\"status\": \"aborted\""));
}

TEST_F(TimeToTrain, ContinuesWithTheExperimentsThatAreMissing) {
  config_.run.experiments = 2;
  run();
  EXPECT_EQ(system_.seeds, (std::vector<uint64_t>{5, 6}));
  EXPECT_THROW(run(), Error) << "results are there";
  config_.run.experiments = 4;
  const auto results = run(ExistingResults::kKeep);
  EXPECT_EQ(system_.seeds, (std::vector<uint64_t>{5, 6, 7, 8})) << "two were kept";
  ASSERT_EQ(results.size(), 4u);
  for (const ExperimentResult& result : results) {
    EXPECT_TRUE(result.reached_target) << result.experiment;
    EXPECT_EQ(result.samples, 90) << result.experiment;
  }
  config_.optimizer.lr = 1e-3;
  EXPECT_THROW(run(ExistingResults::kKeep), Error) << "another configuration";
}

TEST_F(TimeToTrain, ContinuingArchivesAnInterruptedExperimentAndRunsItAgain) {
  config_.run.experiments = 3;
  system_.fails_at = 4;
  EXPECT_EQ(testing_support::error_of([&] { run(); }), "the device is gone");
  const std::string interrupted = read_file(tree().log(0));
  const std::string configuration = read_file(tree().config(0));
  config_.optimizer.lr = 1e-3;
  system_.fails_at = 0;
  EXPECT_THAT(testing_support::error_of([&] { run(); }), HasSubstr("exists already"));
  const auto results = run(ExistingResults::kKeep);
  ASSERT_EQ(results.size(), 3u);
  for (const ExperimentResult& result : results) EXPECT_TRUE(result.reached_target);
  EXPECT_EQ(read_file(tree().log(0).string() + ".interrupted.1"), interrupted);
  EXPECT_EQ(read_file(tree().config(0).string() + ".interrupted.1"), configuration);
  EXPECT_NE(read_file(tree().config(0)), configuration);
  EXPECT_EQ(timed_events(0).back(), "run_stop");
}

TEST_F(TimeToTrain, ContinuingOnOtherRanksIsRefusedAndChangesNothing) {
  config_.run.system.reset();
  system_.named_ranks = 2;
  const std::filesystem::path log = run()[0].log;
  const std::string before = read_file(log);
  system_.named_ranks = 4;
  const std::string error = testing_support::error_of([&] { run(ExistingResults::kKeep); });
  EXPECT_THAT(error, HasSubstr(log.parent_path().parent_path().string()));
  EXPECT_THAT(error, HasSubstr("as many ranks as before"));
  EXPECT_EQ(read_file(log), before);
  EXPECT_TRUE(run()[0].reached_target) << "without --continue another system may lie beside";
}

TEST_F(TimeToTrain, AnInterruptedExperimentIsNotContinuedOnOtherRanks) {
  system_.fails_at = 4;
  EXPECT_THROW(run(), Error);
  system_ = {};
  system_.named_ranks = 4;
  const std::string error = testing_support::error_of([&] { run(ExistingResults::kKeep); });
  EXPECT_THAT(error, HasSubstr(tree().system_description().string()));
  EXPECT_TRUE(std::filesystem::exists(tree().log(0))) << "it was archived";
}

TEST_F(TimeToTrain, AnOutputThatAnotherJobWritesIsRefused) {
  prepare_result_tree(tree());
  std::optional<OutputLock> another(tree().results());
  for (const auto existing : {ExistingResults::kRefuse, ExistingResults::kKeep}) {
    const std::string error = testing_support::error_of([&] { run(existing); });
    EXPECT_THAT(error, HasSubstr("another job writes its results here"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(tree().results()));
  another.reset();
  EXPECT_TRUE(run()[0].reached_target);
  EXPECT_NO_THROW(OutputLock{tree().results()}) << "it is still held";
}

TEST_F(TimeToTrain, RequestsTheConfiguredFiles) {
  run();
  EXPECT_EQ(system_.files_.checkpoint, "");
  EXPECT_EQ(system_.files_.timeline, "");
  config_.run.output = directory_ / "more";
  config_.log.save_checkpoint = config_.log.step_trace = true;
  config_.log.timeline_steps = 2;
  run();
  EXPECT_EQ(system_.files_.checkpoint, tree().checkpoint(0));
  EXPECT_EQ(system_.files_.step_trace, tree().step_trace(0));
  EXPECT_EQ(system_.files_.timeline, tree().timeline(0));
}

TEST_F(TimeToTrain, TheOfficialCheckerPassesItsLog) {
  if (!testing_support::oracle_python()) GTEST_SKIP() << testing_support::kNoOracle;
  run();
  const auto result = testing_support::official_check(tree().log(0));
  EXPECT_EQ(result.status, 0) << result.output;
}

}  // namespace
}  // namespace strata::harness
