// Progress of long work: a bar on a terminal (even behind mpirun), else a plain line every few
// seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace strata::harness {

// How far the work is. Absent numbers are not shown.
struct ProgressState {
  int64_t step = 0;
  int64_t items = 0;  // sequences (or other units) done so far, whose rate is shown
  std::optional<double> loss;
  std::optional<double> accuracy;
};

struct ProgressOptions {
  std::string label = "train";
  std::string unit = "sequences";
  int64_t total_steps = 0;       // 0: unknown; no bar, and no estimate of the end
  bool may_end_earlier = false;  // total_steps is a limit, so the time left is "at most"
  ProgressState done;            // work done before, by the run that is resumed
  int fd = 2;                    // standard error
  std::optional<bool> terminal;  // absent: detected from fd
  std::chrono::milliseconds line_interval{5000};
  std::chrono::milliseconds bar_interval{100};
  std::function<std::chrono::steady_clock::time_point()> clock;  // absent: the steady clock
};

// Not thread-safe. An update costs a clock reading if nothing is due. Ignores write errors, because
// progress must never end a run.
class Progress {
 public:
  Progress() = default;  // shows nothing, for every rank but the first
  explicit Progress(ProgressOptions options);
  ~Progress();  // calls finish()
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(const ProgressState& state);
  // Names the current work; "" is the work whose steps and items are counted. During any other
  // phase, such as an evaluation, its name is shown instead of rates. The rates leave out its time.
  void begin_phase(std::string_view phase);
  // Writes a line above the bar.
  void print(std::string_view line);
  // Removes the bar so that others may write to the terminal. The next update shows it again.
  void clear();
  // Shows the last state and moves the cursor to a new line.
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
  std::deque<Mark> marks_;  // the marks of the last seconds, for rates
};

}  // namespace strata::harness
