// What long work shows while it runs: a bar on a terminal (also on the one that mpirun writes to),
// else a plain line every few seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace strata::harness {

// How far the work is; numbers that are absent are not shown.
struct ProgressState {
  int64_t step = 0;
  int64_t items = 0;  // sequences (or other units) done so far; their rate is shown
  std::optional<double> loss;
  std::optional<double> accuracy;
};

struct ProgressOptions {
  std::string label = "train";
  std::string unit = "sequences";
  int64_t total_steps = 0;       // 0: unknown, no bar and no time left
  bool may_end_earlier = false;  // total_steps is a limit: the time left is "at most"
  ProgressState done;            // before this began, as of a run that is resumed
  int fd = 2;                    // standard error
  std::optional<bool> terminal;  // absent: whether fd is one
  std::chrono::milliseconds line_interval{5000};
  std::chrono::milliseconds bar_interval{100};
  std::function<std::chrono::steady_clock::time_point()> clock;  // absent: the steady clock
};

// Not for use from several threads. Costs a clock reading where nothing is due. Write errors are
// ignored: progress never ends a run.
class Progress {
 public:
  Progress() = default;  // shows nothing: for every rank but the first
  explicit Progress(ProgressOptions options);
  ~Progress();  // as finish()
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(const ProgressState& state);
  // What goes on until the next phase: "" is the work whose steps are counted, others, such as an
  // evaluation, are named instead of rates, and leave those alone. Rates begin with the first "".
  void begin_phase(std::string_view phase);
  // Writes a line of its own, above the bar.
  void print(std::string_view line);
  // Takes the bar away, so that others may write to the terminal; the next update brings it back.
  void clear();
  // Shows the last state once more and leaves the cursor on a fresh line.
  void finish();

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Mark {
    TimePoint time;
    int64_t step;
    int64_t items;
  };

  void remember(TimePoint now);
  void show(TimePoint now);
  std::string numbers(TimePoint now) const;
  std::string bar_line(TimePoint now) const;

  ProgressOptions options_;
  bool enabled_ = false;
  bool terminal_ = false;
  bool bar_visible_ = false;
  bool stale_ = false;  // the last state has not been shown
  std::string phase_;
  TimePoint phase_began_;
  std::optional<TimePoint> last_shown_;
  ProgressState state_;
  std::deque<Mark> marks_;  // of the last seconds, for rates
};

}  // namespace strata::harness
