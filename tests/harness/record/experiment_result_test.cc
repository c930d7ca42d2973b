#include "harness/record/experiment_result.h"

#include "base/error.h"
#include "base/files/files.h"
#include "harness/record/experiment_log.h"
#include "harness/record/run_log.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace strata::harness {
namespace {

class ExperimentResultTest : public testing_support::TemporaryDirectory {
 protected:
  // Writes a log up to an evaluation.
  void begin(ExperimentLog& log) {
    log.run_start();
    log.write([](mllog::LogWriter& events) {
      events.event(log_keys::kSeed, uint64_t{1} << 63);
      events.event(log_keys::kGlobalBatchSize, 16);
      events.event(log_keys::kEvalAccuracy, 0.25);
      events.event(log_keys::kEvalAccuracy, 0.5);
    });
  }
  std::string error() {
    try {
      read_experiment_result(path_, 3);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  const std::filesystem::path path_ = directory_ / "result_3.txt";
};

TEST_F(ExperimentResultTest, IsReadFromItsLog) {
  for (const bool success : {true, false}) {
    std::filesystem::remove(path_);
    {
      ExperimentLog log(path_);
      begin(log);
      log.run_stop(success, 160);
    }
    const ExperimentResult result = read_experiment_result(path_, 3).value();
    EXPECT_EQ(result.experiment, 3);
    EXPECT_EQ(result.reached_target, success);
    EXPECT_EQ(result.accuracy, 0.5);
    EXPECT_EQ(result.samples, 160);
    EXPECT_EQ(result.steps, 10);
    EXPECT_EQ(result.seed, uint64_t{1} << 63);
    EXPECT_GE(result.seconds, 0);
    EXPECT_LT(result.seconds, 60);
  }
}

// An exception, like a signal, ends the log as aborted.
TEST_F(ExperimentResultTest, AnInterruptedRunHasNoResult) {
  {
    ExperimentLog log(path_);
    begin(log);
  }
  EXPECT_THAT(read_file(path_), HasSubstr("aborted"));
  EXPECT_FALSE(read_experiment_result(path_, 3).has_value());
}

TEST_F(ExperimentResultTest, AKilledRunHasNoResult) {
  {
    ExperimentLog log(path_);
    begin(log);
    log.run_stop(true, 160);
  }
  const std::string whole = read_file(path_);
  write_file_atomically(path_, whole.substr(0, whole.size() - 20));
  EXPECT_FALSE(read_experiment_result(path_, 3).has_value());
  write_file_atomically(path_, "");
  EXPECT_FALSE(read_experiment_result(path_, 3).has_value());
}

TEST_F(ExperimentResultTest, OtherFilesAreNamed) {
  write_file_atomically(path_, ":::MLLOG {\"key\": 3}\n");
  EXPECT_EQ(error().find(path_.string() + ": cannot be read as a log"), 0u) << error();
}

}  // namespace
}  // namespace strata::harness
