#include "harness/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace strata::harness {
namespace {

// Rates are averages over this long, so that they neither jump nor lag.
constexpr std::chrono::seconds kRateWindow{15};
constexpr std::chrono::milliseconds kMarkInterval{250};

bool is_terminal(int fd) {
  const char* kind = std::getenv("TERM");
  return ::isatty(fd) == 1 && kind && std::string_view(kind) != "dumb";
}

size_t columns_of(int fd) {
  winsize size = {};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// "1:02:03", or "2:03" below an hour.
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
      terminal_(options_.terminal.value_or(is_terminal(options_.fd))) {
  if (!options_.clock) options_.clock = [] { return std::chrono::steady_clock::now(); };
  const TimePoint now = options_.clock();
  marks_.push_back({now, 0, 0});
  last_shown_ = now;
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
  const size_t columns = columns_of(options_.fd) - 1;  // the last column would wrap
  const std::string text = numbers(now);
  const size_t around = options_.label.size() + text.size() + 4;  // "label [...] text"
  std::string line = options_.label + " " + text;
  if (options_.total_steps > 0 && around + kShortestBar <= columns) {
    const size_t width = std::min(columns - around, kLongestBar);
    const double share = std::clamp(
        static_cast<double>(state_.step) / static_cast<double>(options_.total_steps), 0.0, 1.0);
    const auto done = static_cast<size_t>(share * static_cast<double>(width));
    line = fmt::format("{} [{}{}] {}", options_.label, std::string(done, '='),
                       std::string(width - done, ' '), text);
  }
  return line.substr(0, columns);
}

}  // namespace strata::harness
