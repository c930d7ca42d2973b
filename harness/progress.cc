#include "harness/progress.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/files/write_all.h"

namespace strata::harness {
namespace {

// Rates are averages over this window, so that they neither jump nor lag.
constexpr std::chrono::seconds kRateWindow{15};
constexpr std::chrono::milliseconds kMarkInterval{250};

size_t columns_of(int fd) {
  winsize size = {};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// Returns the columns of the terminal that `fd` writes to, or 0 if it is none. A rank's output goes
// through its parent, mpirun, so the parent's descriptor may be the terminal.
size_t terminal_columns(int fd) {
  const char* kind = std::getenv("TERM");
  if (!kind || std::string_view(kind) == "dumb") return 0;
  if (::isatty(fd) == 1) return columns_of(fd);
  if (!std::getenv("OMPI_COMM_WORLD_RANK")) return 0;
  const std::string path = fmt::format("/proc/{}/fd/{}", ::getppid(), fd);
  const int parents = ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (parents < 0) return 0;
  const size_t columns = ::isatty(parents) == 1 ? columns_of(parents) : 0;
  ::close(parents);
  return columns;
}

double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// Formats "1:02:03", or "2:03" below an hour.
std::string clock_time(double total_seconds) {
  const auto rounded = static_cast<int64_t>(std::ceil(std::min(total_seconds, 1e9)));
  const int64_t hours = rounded / 3600;
  const int64_t minutes = rounded / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, rounded % 60)
                   : fmt::format("{}:{:02}", minutes, rounded % 60);
}

}  // namespace

Progress::Progress(ProgressOptions options)
    : options_(std::move(options)),
      enabled_(true),
      terminal_(options_.terminal.value_or(terminal_columns(options_.fd) > 0)) {
  if (!options_.clock) options_.clock = [] { return std::chrono::steady_clock::now(); };
  const TimePoint now = options_.clock();
  state_ = options_.done;
  marks_.push_back({now, state_.step, state_.items});
  last_shown_ = phase_began_ = now;
}

Progress::~Progress() { finish(); }

void Progress::update(const ProgressState& state) {
  if (!enabled_) return;
  const TimePoint now = options_.clock();
  state_ = state;
  stale_ = true;
  remember(now);
  const auto interval = terminal_ ? options_.bar_interval : options_.line_interval;
  const bool hidden = terminal_ && !bar_visible_;
  if (hidden || now - *last_shown_ >= interval) show(now);
}

void Progress::begin_phase(std::string_view phase) {
  if (!enabled_) return;
  const TimePoint now = options_.clock();
  if (!phase_.empty()) {
    for (Mark& mark : marks_) mark.time += now - phase_began_;
  }
  phase_ = phase;
  phase_began_ = now;
  // Users should see what takes long, but not a line for each short evaluation.
  const bool due = terminal_ || state_.step == 0 || now - *last_shown_ >= options_.line_interval;
  if (!phase_.empty() && due) show(now);
}

void Progress::print(std::string_view line) {
  if (!enabled_) return;
  const bool visible = bar_visible_;
  clear();
  write_all(options_.fd, std::string(line) + "\n");
  if (visible) show(options_.clock());
}

void Progress::clear() {
  if (bar_visible_) write_all(options_.fd, "\r\x1b[K");
  bar_visible_ = false;
}

void Progress::finish() {
  if (!enabled_) return;
  if (stale_) show(options_.clock());
  if (bar_visible_) write_all(options_.fd, "\n");
  bar_visible_ = false;
}

void Progress::remember(TimePoint now) {
  if (now - marks_.back().time >= kMarkInterval) marks_.push_back({now, state_.step, state_.items});
  while (marks_.size() > 2 && now - marks_[1].time >= kRateWindow) marks_.pop_front();
}

void Progress::show(TimePoint now) {
  if (terminal_) {
    write_all(options_.fd, fmt::format("\r{}\x1b[K", bar_line(now)));
    bar_visible_ = true;
  } else {
    write_all(options_.fd, fmt::format("{}: {}\n", options_.label, numbers(now)));
  }
  last_shown_ = now;
  stale_ = false;
}

std::string Progress::numbers(TimePoint now) const {
  if (!phase_.empty() && state_.step == 0) return phase_;
  const double elapsed = seconds(now - marks_.front().time);
  const double items_per_second =
      elapsed > 0 ? static_cast<double>(state_.items - marks_.front().items) / elapsed : 0;
  const double steps_per_second =
      elapsed > 0 ? static_cast<double>(state_.step - marks_.front().step) / elapsed : 0;

  std::string text = options_.total_steps > 0
                         ? fmt::format("step {}/{}", state_.step, options_.total_steps)
                         : fmt::format("step {}", state_.step);
  if (state_.loss) text += fmt::format(", loss {:.3f}", *state_.loss);
  if (state_.accuracy) text += fmt::format(", accuracy {:.4f}", *state_.accuracy);
  if (!phase_.empty()) return text + ", " + phase_;
  text += fmt::format(", {:.1f} {}/s", items_per_second, options_.unit);
  const int64_t steps_left = options_.total_steps - state_.step;
  if (steps_left > 0 && steps_per_second > 0) {
    text += fmt::format(", {}{} left", options_.may_end_earlier ? "at most " : "",
                        clock_time(static_cast<double>(steps_left) / steps_per_second));
  }
  return text;
}

std::string Progress::bar_line(TimePoint now) const {
  constexpr size_t kShortestBar = 10;
  constexpr size_t kLongestBar = 40;
  const size_t width = terminal_columns(options_.fd);
  const size_t columns = (width > 0 ? width : 80) - 1;  // the last column would wrap
  const std::string text = numbers(now);
  const size_t around = options_.label.size() + text.size() + 4;  // "label [...] text"
  std::string line = options_.label + " " + text;
  if (options_.total_steps > 0 && around + kShortestBar <= columns) {
    const size_t bar = std::min(columns - around, kLongestBar);
    const double share = std::clamp(
        static_cast<double>(state_.step) / static_cast<double>(options_.total_steps), 0.0, 1.0);
    const auto done = static_cast<size_t>(share * static_cast<double>(bar));
    line = fmt::format("{} [{}{}] {}", options_.label, std::string(done, '='),
                       std::string(bar - done, ' '), text);
  }
  return line.substr(0, columns);
}

}  // namespace strata::harness
