#include "mllog/log_writer.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/files/files.h"
#include "mllog/log_keys.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace strata::mllog {
namespace {

constexpr std::string_view kPrefix = ":::MLLOG ";

// Returns the events of a log; every line must be whole.
std::vector<nlohmann::json> whole_events_of(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  EXPECT_TRUE(text.empty() || text.back() == '\n') << "the last line is not whole";
  std::vector<nlohmann::json> events;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.starts_with(kPrefix)) << line;
    events.push_back(nlohmann::json::parse(line.substr(kPrefix.size())));
  }
  return events;
}

template <typename Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class LogWriterTest : public testing_support::TemporaryDirectory {
 protected:
  const std::filesystem::path path_ = directory_ / "org" / "result_0.txt";
};

TEST_F(LogWriterTest, ALineHasTheOfficialForm) {
  LogWriter log(path_, {.clock = LogClock([] { return 1700000000123; }, [] { return 7; }),
                        .source_root = STRATA_SOURCE_DIR "/"});
  const int line = __LINE__ + 1;
  log.event(keys::kEvalAccuracy, 0.25, {{keys::kEpochNum, 640}});
  EXPECT_EQ(read_file(path_),
            ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1700000000123, \"event_type\": "
            "\"POINT_IN_TIME\", \"key\": \"eval_accuracy\", \"value\": 0.25, \"metadata\": "
            "{\"file\": \"tests/mllog/log_writer_test.cc\", \"lineno\": " +
                std::to_string(line) + ", \"epoch_num\": 640}}\n");
}

TEST_F(LogWriterTest, EveryTypeOfValueIsWrittenAsJson) {
  LogWriter log(path_);
  log.start(keys::kRunStart);
  log.event("text", "a \"b\" \\ \n \xff");
  log.event("flag", true);
  log.event("integer", -5);
  log.event("large", ~uint64_t{0});
  log.event("small", 1e-9);
  log.end(keys::kRunStop, {}, {{keys::kStatus, keys::kSuccess}});
  const auto events = whole_events_of(path_);
  ASSERT_EQ(events.size(), 7u);
  EXPECT_EQ(events[0]["event_type"], "INTERVAL_START");
  EXPECT_TRUE(events[0]["value"].is_null());
  EXPECT_EQ(events[1]["value"], "a \"b\" \\ \n \xef\xbf\xbd");
  EXPECT_EQ(events[2]["value"], true);
  EXPECT_EQ(events[3]["value"], -5);
  EXPECT_EQ(events[4]["value"], ~uint64_t{0});
  EXPECT_EQ(events[5]["value"], 1e-9);
  EXPECT_EQ(events[6]["event_type"], "INTERVAL_END");
  EXPECT_EQ(events[6]["metadata"]["status"], "success");
}

TEST_F(LogWriterTest, TimesNeverFall) {
  int64_t now = 100;
  LogWriter log(path_, {.clock = LogClock([] { return 100; }, [&now] { return now; })});
  log.start("a");
  now = 50;
  log.end("a");
  now = 200;
  log.event("b", 1);
  const auto events = whole_events_of(path_);
  EXPECT_EQ(events[0]["time_ms"], 100);
  EXPECT_EQ(events[1]["time_ms"], 100);
  EXPECT_EQ(events[2]["time_ms"], 200);
}

// The clock of the machine that continues may be an hour behind.
TEST_F(LogWriterTest, AReopenedLogContinuesFromTheTimeOfItsLastEvent) {
  const auto clock = [](int64_t wall, const int64_t& now) {
    return LogClock([wall] { return wall; }, [&now] { return now; });
  };
  int64_t now = 0;
  {
    LogWriter log(path_, {.clock = clock(10'000'000, now)});
    log.start("a");
  }
  {
    LogWriter log = LogWriter::reopen(path_, {.clock = clock(6'400'000, now)});
    EXPECT_EQ(log.clock().moved_forward_by(), 3'600'000);
    now = 8'000;
    log.end("a");
  }
  now = 0;
  {
    LogWriter log = LogWriter::reopen(path_, {.clock = clock(6'400'000, now)}, 10'050'000);
    now = 7;
    log.start("b");
  }
  now = 0;
  LogWriter log = LogWriter::reopen(path_, {.clock = clock(20'000'000, now)});
  EXPECT_EQ(log.clock().moved_forward_by(), 0);
  log.end("b");
  const auto events = whole_events_of(path_);
  EXPECT_EQ(events[0]["time_ms"], 10'000'000);
  EXPECT_EQ(events[1]["time_ms"], 10'008'000) << "8 s of work are 8 s in the log";
  EXPECT_EQ(events[2]["time_ms"], 10'050'007);
  EXPECT_EQ(events[3]["time_ms"], 20'000'000);
}

TEST_F(LogWriterTest, TheLatestTimeIgnoresIncompleteLinesAndImpossibleTimes) {
  write_file_atomically(path_, "");
  EXPECT_EQ(latest_time_ms(path_), 0);
  const auto line = [](const char* time) {
    return fmt::format(
        ":::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": \"POINT_IN_TIME\", "
        "\"key\": \"a\", \"value\": 1, \"metadata\": {{\"file\": \"a\", \"lineno\": 1}}}}\n",
        time);
  };
  std::filesystem::remove(path_);
  write_file_atomically(path_, line("1000") + line("3000") + line("2000") + line("1e300") +
                                   line("9000").substr(0, 40));
  EXPECT_EQ(latest_time_ms(path_), 3000);
}

TEST_F(LogWriterTest, ADefaultLogWritesNothing) {
  LogWriter log;
  log.start("a");
  log.end(keys::kRunStop);
  EXPECT_FALSE(log.enabled());
}

TEST_F(LogWriterTest, AMovedLogGoesOnInTheSameFile) {
  LogWriter first(path_);
  first.start("a");
  LogWriter second(std::move(first));
  first.end("lost");
  second.end("a");
  EXPECT_EQ(whole_events_of(path_).size(), 2u);
}

TEST_F(LogWriterTest, AnExistingLogIsNeverTouched) {
  { LogWriter(path_).start("a"); }
  const std::string before = read_file(path_);
  EXPECT_EQ(error_of([&] { LogWriter log(path_); }),
            path_.string() + ": exists already; move it away or write the log elsewhere");
  EXPECT_EQ(read_file(path_), before);
}

TEST_F(LogWriterTest, APlaceThatCannotBeWrittenIsNamed) {
  write_file_atomically(directory_ / "file", "x");
  EXPECT_THAT(error_of([&] { LogWriter log(directory_ / "file" / "log"); }),
              HasSubstr("file/log: cannot create its directory"));
  EXPECT_THAT(error_of([&] { LogWriter log(directory_); }), HasSubstr("cannot open for writing"));
}

TEST_F(LogWriterTest, AFullDeviceIsReported) {
  LogWriter log("/dev/full");
  const std::string error = error_of([&] { log.start(keys::kRunStart); });
  EXPECT_THAT(error,
              HasSubstr("/dev/full: cannot write event 'run_start': No space left on device"));
}

// A file-size limit inside a line makes that line's write stop half way.
TEST_F(LogWriterTest, CompleteLinesRemainIfTheDiskFillsUp) {
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limited{1000, before.rlim_max};
  LogWriter log(path_);
  setrlimit(RLIMIT_FSIZE, &limited);
  std::string error;
  int written = 0;
  for (; error.empty() && written < 100; ++written) {
    error = error_of([&] { log.event("key", written); });
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, previous);
  EXPECT_THAT(error, HasSubstr(path_.string() + ": cannot write event 'key'"));
  const auto events = whole_events_of(path_);
  EXPECT_EQ(static_cast<int>(events.size()), written - 1);
  EXPECT_GT(events.size(), 1u);

  // With free space again, the run can still log its end.
  log.end(keys::kRunStop, {}, {{keys::kStatus, keys::kAborted}});
  EXPECT_EQ(whole_events_of(path_).back()["metadata"]["status"], "aborted");
}

// A file-size limit stands in for a full disk.
class FullDisk : public LogWriterTest {
 protected:
  FullDisk() : handler_(std::signal(SIGXFSZ, SIG_IGN)) { getrlimit(RLIMIT_FSIZE, &before_); }
  ~FullDisk() override {
    give_space();
    std::signal(SIGXFSZ, handler_);
  }
  void fill_after(rlim_t bytes) {
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  void give_space() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  void (*handler_)(int);
  rlimit before_;
};

TEST_F(FullDisk, LinesWaitUntilThereIsSpace) {
  LogWriter log(path_);
  log.let_lines_wait(10'000);
  log.event("key", 0);
  ::testing::internal::CaptureStderr();
  fill_after(std::filesystem::file_size(path_) + 10);  // only a part of the next line fits
  for (const int i : {1, 2, 3}) log.event("key", i);
  EXPECT_EQ(whole_events_of(path_).size(), 1u);
  EXPECT_EQ(std::ranges::count(log.waiting(), '\n'), 3);
  EXPECT_FALSE(log.write_waiting());
  give_space();
  log.event("key", 4);
  EXPECT_EQ(log.waiting(), "");
  log.event("key", 5);
  const auto events = whole_events_of(path_);
  ASSERT_EQ(events.size(), 6u);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(events[static_cast<size_t>(i)]["value"], i);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "\nstrata: " + path_.string() +
                ": cannot write event 'key': File too large; events wait in memory until there is "
                "space\n\nstrata: " +
                path_.string() + ": the events that waited for space are written\n");
}

TEST_F(FullDisk, OnlyTheAllowedNumberOfBytesWaits) {
  LogWriter log(path_);
  log.let_lines_wait(1000);
  log.event("key", 0);
  fill_after(std::filesystem::file_size(path_));
  ::testing::internal::CaptureStderr();
  std::string error;
  for (int i = 1; i < 100 && error.empty(); ++i) error = error_of([&] { log.event("key", i); });
  ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(error, HasSubstr("the log is complete up to the events that wait for space"));
  EXPECT_LE(log.waiting().size(), 1000u);
  EXPECT_GT(log.waiting().size(), 500u);
  const auto waiting = std::ranges::count(log.waiting(), '\n');
  give_space();
  EXPECT_TRUE(log.write_waiting());
  EXPECT_EQ(std::ssize(whole_events_of(path_)), waiting + 1);
}

TEST_F(LogWriterTest, AKilledProcessLeavesEveryLineItWrote) {
  const pid_t child = ::fork();
  if (child == 0) {
    LogWriter log(path_);
    for (int i = 0; i < 50; ++i) log.event("key", i);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(whole_events_of(path_).size(), 50u);
}

}  // namespace
}  // namespace strata::mllog
