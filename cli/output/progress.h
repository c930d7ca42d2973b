// A line on a terminal with the progress of long work. Prints nothing if standard error is not a
// terminal.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <string>
#include <utility>

namespace strata::cli {

class Progress {
 public:
  explicit Progress(std::string what) : what_(std::move(what)), terminal_(::isatty(2) != 0) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }

  // Thread-safe.
  void update(size_t done, size_t total) {
    constexpr size_t kFewSteps = 200;
    if (!terminal_ || total < 2) return;
    const size_t step = total / kFewSteps + 1;
    if (done % step != 0 && done != total) return;
    const std::lock_guard lock(mutex_);
    shown_ = true;
    std::fprintf(stderr, "\r\033[K%s: %zu of %zu", what_.c_str(), done, total);
    std::fflush(stderr);
  }

 private:
  std::string what_;
  bool terminal_;
  bool shown_ = false;
  std::mutex mutex_;
};

}  // namespace strata::cli
