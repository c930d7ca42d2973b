// The reader and the official checker accept a log of the writer.

#include <filesystem>
#include <string>
#include <vector>

#include "base/files/files.h"
#include "mllog/log_keys.h"
#include "mllog/log_reader.h"
#include "mllog/log_writer.h"
#include "tests/support/matchers.h"
#include "tests/support/oracle.h"
#include "tests/support/temporary_directory.h"

namespace strata::mllog {
namespace {

class RoundTrip : public testing_support::TemporaryDirectory {
 protected:
  LogWriterOptions one_second_an_event() {
    return {.clock =
                LogClock([] { return 1'700'000'000'000; }, [this] { return steady_ += 1000; })};
  }

  const std::filesystem::path path_ = directory_ / "result_0.txt";
  int64_t steady_ = 0;
};

TEST_F(RoundTrip, TheReaderFindsWhatTheWriterWrote) {
  {
    LogWriter log(path_, one_second_an_event());
    log.start(keys::kRunStart);
    log.event("k\xC3\xA9y", "a \"b\"\n\xE2\x82\xAC", {{"ranks", Json{"[0, 1]"}}, {"rate", 1e-4}});
    log.end(keys::kRunStop, 12, {{keys::kStatus, keys::kSuccess}});
  }
  const LogReader log(path_);
  EXPECT_EQ(log.bad_line_count(), 0u);
  ASSERT_EQ(log.event_count(), 3u);
  const Event& event = log.events()[1];
  EXPECT_EQ(event.key, "k\xC3\xA9y");
  EXPECT_EQ(event.time_ms, log.events()[0].time_ms + 1000);
  EXPECT_EQ(parse_value(event.value), EventValue("a \"b\"\n\xE2\x82\xAC"));
  EXPECT_EQ(find_field(event.metadata, "ranks"), "[0, 1]");
  EXPECT_EQ(parse_value(find_field(event.metadata, "rate").value()), EventValue(1e-4));
  EXPECT_EQ(log.line_number(log.events()[2].offset), 3u);
  EXPECT_EQ(parse_value(log.events()[2].value), EventValue(int64_t{12}));
}

TEST_F(RoundTrip, AnEventWithInvalidJsonIsNamedAndNotWritten) {
  LogWriter log(path_);
  log.event("seed", 1);
  try {
    log.event("shape", Json{"[1, 2"});
    ADD_FAILURE() << "no error";
  } catch (const std::exception& error) {
    EXPECT_THAT(std::string(error.what()), HasSubstr(path_.string() + ": event 'shape': not JSON"))
        << error.what();
  }
  EXPECT_EQ(LogReader(path_).event_count(), 1u);
}

// Metadata may hold a field with one of the record's own names.
TEST_F(RoundTrip, AReopenedLogContinuesAtTheTimeOfTheLastEvent) {
  {
    LogWriter log(path_, one_second_an_event());
    log.event("seed", Json{R"({"time_ms": 9999999999999})"}, {{"time_ms", 9'999'999'999'999}});
  }
  const double before = LogReader(path_).events().back().time_ms;
  LogWriter log = LogWriter::reopen(path_, {.clock = LogClock([] { return 5; }, [] { return 0; })});
  log.event("seed", 2);
  EXPECT_EQ(LogReader(path_).events().back().time_ms, before);
  EXPECT_EQ(LogReader(path_).event_count(), 2u);
}

TEST_F(RoundTrip, TheOfficialCheckerPassesALog) {
  if (!testing_support::oracle_python()) GTEST_SKIP() << testing_support::kNoOracle;
  {
    LogWriter log(path_, one_second_an_event());
    log.event(keys::kCacheClear, true);
    log.start(keys::kInitStart);
    log.event(keys::kSubmissionBenchmark, "bert");
    log.event(keys::kSubmissionOrg, "Caf\xC3\xA9");
    log.event(keys::kSubmissionDivision, "open");
    log.event(keys::kSubmissionStatus, "onprem");
    log.event(keys::kSubmissionPlatform, "1 x CPU", {{"shape", Json{"[1, {\"a\": NaN}]"}}});
    for (const char* key : {keys::kSeed, keys::kGlobalBatchSize, keys::kGradientAccumulationSteps,
                            keys::kOptBaseLearningRate, keys::kOptEpsilon, keys::kOptLambEpsilon,
                            keys::kOptLambBeta1, keys::kOptLambBeta2, keys::kOptLambWeightDecayRate,
                            keys::kOptTrainingSteps, keys::kOptWarmupSteps, keys::kNumWarmupSteps,
                            keys::kStartWarmupStep, keys::kTrainSamples, keys::kEvalSamples}) {
      log.event(key, 1);
    }
    log.end(keys::kInitStop);
    log.start(keys::kRunStart);
    log.start(keys::kBlockStart, {{keys::kFirstEpochNum, 1}, {keys::kEpochCount, 1}});
    log.start(keys::kEvalStart, {{keys::kEpochNum, 640}});
    log.end(keys::kEvalStop, {}, {{keys::kEpochNum, 640}});
    log.event(keys::kEvalAccuracy, 0.7201, {{keys::kEpochNum, 640}});
    log.end(keys::kBlockStop, {}, {{keys::kFirstEpochNum, 1}});
    log.end(keys::kRunStop, {}, {{keys::kStatus, keys::kSuccess}});
  }
  for (const char* round : {"2.1.0", "5.0.0"}) {
    const testing_support::CommandResult verdict = testing_support::official_check(path_, round);
    EXPECT_EQ(verdict.status, 0) << round << ": " << verdict.output;
  }
  // A log without its end must not pass.
  const std::string text = read_file(path_);
  const auto broken = directory_ / "result_1.txt";
  write_file_atomically(broken, text.substr(0, text.rfind(":::MLLOG")));
  EXPECT_NE(testing_support::official_check(broken).status, 0);
}

}  // namespace
}  // namespace strata::mllog
