#include "harness/progress.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <utility>

#include "tests/support/matchers.h"

namespace strata::harness {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using TimePoint = std::chrono::steady_clock::time_point;

// A stream for progress, and the text that arrives there.
class Stream {
 public:
  static Stream pipe() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    return Stream(ends[0], ends[1]);
  }
  static Stream terminal(unsigned short columns) {
    int reader;
    int writer;
    const winsize size{.ws_row = 24, .ws_col = columns};
    EXPECT_EQ(::openpty(&reader, &writer, nullptr, nullptr, &size), 0);
    return Stream(reader, writer);
  }
  Stream(Stream&& other) noexcept
      : reader_(std::exchange(other.reader_, -1)), writer_(std::exchange(other.writer_, -1)) {}
  ~Stream() {
    if (reader_ >= 0) ::close(reader_);
    if (writer_ >= 0) ::close(writer_);
  }

  int fd() const { return writer_; }
  void close_reader() { ::close(std::exchange(reader_, -1)); }

  // Returns the text since the last call.
  std::string arrived() {
    std::string text;
    std::array<char, 4096> bytes;
    for (ssize_t read; (read = ::read(reader_, bytes.data(), bytes.size())) > 0;) {
      text.append(bytes.data(), static_cast<size_t>(read));
    }
    return text;
  }

 private:
  Stream(int reader, int writer) : reader_(reader), writer_(writer) {
    ::fcntl(reader_, F_SETFL, O_NONBLOCK);
  }

  int reader_;
  int writer_;
};

class ProgressTest : public testing::Test {
 protected:
  ProgressTest() { ::setenv("TERM", "xterm", 1); }

  ProgressOptions options(const Stream& stream, int64_t total_steps) {
    ProgressOptions result;
    result.total_steps = total_steps;
    result.fd = stream.fd();
    result.clock = [this] { return now_; };
    return result;
  }

  TimePoint now_{seconds(1000)};
};

TEST_F(ProgressTest, WithoutATerminalPlainLinesAppearEveryFewSeconds) {
  Stream stream = Stream::pipe();
  Progress progress(options(stream, 100));
  for (int step = 1; step <= 11; ++step) {
    now_ += seconds(1);
    progress.update({.step = step, .items = 16 * step, .loss = 2.5, .accuracy = 0.25});
  }
  EXPECT_EQ(stream.arrived(),
            "train: step 5/100, loss 2.500, accuracy 0.2500, 16.0 sequences/s, 1:35 left\n"
            "train: step 10/100, loss 2.500, accuracy 0.2500, 16.0 sequences/s, 1:30 left\n");
  progress.finish();
  progress.finish();
  EXPECT_EQ(stream.arrived(),
            "train: step 11/100, loss 2.500, accuracy 0.2500, 16.0 sequences/s, 1:29 left\n");
}

TEST_F(ProgressTest, WithoutATotalThereIsNeitherBarNorTimeLeft) {
  Stream stream = Stream::pipe();
  ProgressOptions unknown = options(stream, 0);
  unknown.label = "prepare";
  unknown.unit = "documents";
  Progress progress(unknown);
  now_ += seconds(5);
  progress.update({.step = 3, .items = 10});
  EXPECT_EQ(stream.arrived(), "prepare: step 3, 2.0 documents/s\n");
}

TEST_F(ProgressTest, WithoutAStepInTheWindowNoTimeLeftIsKnown) {
  Stream stream = Stream::pipe();
  Progress progress(options(stream, 100));
  now_ += seconds(5);
  progress.update({.step = 0, .items = 0});
  EXPECT_EQ(stream.arrived(), "train: step 0/100, 0.0 sequences/s\n");
}

TEST_F(ProgressTest, AnUpperLimitGivesTheLongestTimeLeft) {
  Stream stream = Stream::pipe();
  ProgressOptions limit = options(stream, 7300);
  limit.may_end_earlier = true;
  Progress progress(limit);
  now_ += seconds(10);
  progress.update({.step = 10, .items = 10});
  EXPECT_EQ(stream.arrived(), "train: step 10/7300, 1.0 sequences/s, at most 2:01:30 left\n");
}

TEST_F(ProgressTest, TheRateIsThatOfTheLastSeconds) {
  Stream stream = Stream::pipe();
  Progress progress(options(stream, 0));
  int64_t items = 0;
  for (int second = 1; second <= 60; ++second) {
    now_ += seconds(1);
    items += second <= 30 ? 100 : 10;
    progress.update({.step = second, .items = items});
  }
  const std::string text = stream.arrived();
  EXPECT_THAT(text, HasSubstr("step 25, 100.0 sequences/s"));
  EXPECT_THAT(text, HasSubstr("step 60, 10.0 sequences/s"));
}

TEST_F(ProgressTest, OnATerminalABarIsDrawnOverItself) {
  Stream stream = Stream::terminal(100);
  {
    Progress progress(options(stream, 10));
    now_ += milliseconds(500);
    progress.update({.step = 4, .items = 8, .loss = 1.0});
    EXPECT_EQ(stream.arrived(),
              "\rtrain [================                        ] step 4/10, loss 1.000, 16.0 "
              "sequences/s, 0:01 left\x1b[K");
    now_ += milliseconds(50);
    progress.update({.step = 5, .items = 10});
    EXPECT_EQ(stream.arrived(), "") << "drawn more often than ten times a second";
  }
  const std::string last = stream.arrived();
  EXPECT_THAT(last, HasSubstr("step 5/10")) << "the last state is shown";
  EXPECT_TRUE(last.ends_with("\x1b[K\r\n")) << "the cursor is left on a fresh line";
}

TEST_F(ProgressTest, LinesOfOthersStandAboveTheBar) {
  Stream stream = Stream::terminal(80);
  Progress progress(options(stream, 10));
  now_ += seconds(1);
  progress.update({.step = 1, .items = 1});
  stream.arrived();
  progress.print("evaluated");
  const std::string text = stream.arrived();
  EXPECT_TRUE(text.starts_with("\r\x1b[Kevaluated\r\n\rtrain [")) << text;
  progress.clear();
  EXPECT_EQ(stream.arrived(), "\r\x1b[K");
  progress.clear();
  EXPECT_EQ(stream.arrived(), "");
  progress.update({.step = 2, .items = 2});
  EXPECT_TRUE(stream.arrived().starts_with("\rtrain [")) << "the next update brings it back";
}

TEST_F(ProgressTest, ANarrowTerminalIsNeverWrapped) {
  Stream stream = Stream::terminal(20);
  Progress progress(options(stream, 10));
  now_ += seconds(1);
  progress.update({.step = 1, .items = 1, .loss = 1.0, .accuracy = 0.5});
  EXPECT_EQ(stream.arrived(), "\rtrain step 1/10, lo\x1b[K");
}

TEST_F(ProgressTest, ADumbTerminalGetsPlainLines) {
  ::setenv("TERM", "dumb", 1);
  Stream stream = Stream::terminal(80);
  Progress progress(options(stream, 10));
  now_ += seconds(5);
  progress.update({.step = 1, .items = 5});
  EXPECT_EQ(stream.arrived(), "train: step 1/10, 1.0 sequences/s, 0:45 left\r\n");
}

TEST_F(ProgressTest, AClosedPipeDoesNotEndTheProgram) {
  const auto previous = std::signal(SIGPIPE, SIG_IGN);
  Stream stream = Stream::pipe();
  Progress progress(options(stream, 10));
  stream.close_reader();
  now_ += seconds(10);
  EXPECT_NO_THROW(progress.update({.step = 1}));
  progress.finish();
  std::signal(SIGPIPE, previous);
}

// Rates exclude the time before the first step, and evaluations.
TEST_F(ProgressTest, RatesCountOnlySteps) {
  Stream stream = Stream::pipe();
  Progress progress(options(stream, 10));
  progress.begin_phase("warm-up");
  EXPECT_EQ(stream.arrived(), "train: warm-up\n");
  now_ += seconds(40);
  progress.begin_phase("");
  for (int step = 1; step <= 5; ++step) {
    now_ += seconds(1);
    progress.update({.step = step, .items = 8 * step});
  }
  EXPECT_EQ(stream.arrived(), "train: step 1/10, 8.0 sequences/s, 0:09 left\n");
  now_ += seconds(5);
  progress.begin_phase("evaluation");
  EXPECT_EQ(stream.arrived(), "train: step 5/10, evaluation\n");
  now_ += seconds(100);
  progress.begin_phase("");
  now_ += seconds(5);
  progress.update({.step = 6, .items = 48});
  EXPECT_EQ(stream.arrived(), "train: step 6/10, 3.2 sequences/s, 0:10 left\n")
      << "48 items in 15 s";
}

TEST_F(ProgressTest, ABarNamesThePhase) {
  Stream stream = Stream::terminal(80);
  Progress progress(options(stream, 10));
  now_ += seconds(1);
  progress.update({.step = 5, .items = 40});
  stream.arrived();
  progress.begin_phase("evaluation");
  EXPECT_THAT(stream.arrived(), HasSubstr("] step 5/10, evaluation"));
}

TEST_F(ProgressTest, ADefaultProgressShowsNothing) {
  testing::internal::CaptureStderr();
  Progress progress;
  progress.begin_phase("warm-up");
  progress.update({.step = 1});
  progress.print("x");
  progress.finish();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace strata::harness
