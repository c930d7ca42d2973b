#include "harness/run_log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "base/error.h"
#include "harness/log_keys.h"

namespace strata::harness {

RunLog::RunLog(std::filesystem::path path)
    : log_(std::move(path)), interruption_(std::make_unique<Interruption>()) {
  watcher_ = std::thread([this] { watch(); });
}

RunLog::~RunLog() {
  finished_ = true;
  if (watcher_.joinable()) watcher_.join();
  try {
    stop_as_aborted();
  } catch (const Error& error) {
    std::fprintf(stderr, "strata: %s\n", error.what());  // an exception may be on its way already
  }
}

void RunLog::write(const std::function<void(EventLog&)>& write) {
  const std::lock_guard lock(mutex_);
  write(log_);
}

void RunLog::run_start() {
  const std::lock_guard lock(mutex_);
  log_.start(log_keys::kRunStart);
  running_ = true;
}

void RunLog::run_stop(bool success, int64_t samples) {
  const std::lock_guard lock(mutex_);
  if (!running_) return;
  running_ = false;
  log_.end(log_keys::kRunStop, {},
           {{log_keys::kStatus, success ? log_keys::kSuccess : log_keys::kAborted},
            {log_keys::kEpochNum, samples}});
}

void RunLog::stop_as_aborted() {
  const std::lock_guard lock(mutex_);
  if (!running_) return;
  running_ = false;
  log_.end(log_keys::kRunStop, {}, {{log_keys::kStatus, log_keys::kAborted}});
}

void RunLog::watch() {
  while (!finished_) {
    if (interruption_->requested()) {
      int exit_code = 128 + interruption_->signal();
      std::string message = fmt::format(
          "\nstrata: interrupted; {} ends with run_stop aborted. To run again, "
          "give another run.output or remove it.\n",
          log_.path().string());
      try {
        stop_as_aborted();
      } catch (const Error& error) {
        message = fmt::format("\nstrata: interrupted, and {}\n", error.what());
        exit_code = 2;
      }
      // Another thread may wait in a collective for a rank that is gone: leave without its help.
      std::fputs(message.c_str(), stderr);
      ::_exit(exit_code);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace strata::harness
