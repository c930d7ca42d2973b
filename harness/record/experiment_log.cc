#include "harness/record/experiment_log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/counts.h"
#include "base/threads/start_thread.h"
#include "harness/record/result_tree.h"
#include "harness/record/run_log.h"
#include "mllog/log_reader.h"

namespace strata::harness {
namespace {

constexpr size_t kMostWaiting = 1 << 20;  // bytes of events
constexpr auto kBetweenAttempts = std::chrono::milliseconds(200);

// Returns when the log's run began, or 0 if it did not.
int64_t run_start_of(const std::filesystem::path& log) {
  double start_ms = 0;
  mllog::LogReader(log, mllog::LogFormat::kMllog).visit([&](const auto& event) {
    if (event.key == log_keys::kRunStart) start_ms = event.time_ms;
    return start_ms == 0;
  });
  return static_cast<int64_t>(start_ms);
}

}  // namespace

ExperimentLog::ExperimentLog(std::filesystem::path path, LogKeeper* keeper, LogBegin begin,
                             int64_t earliest_ms)
    : log_(begin == LogBegin::kNew ? make_log(std::move(path))
                                   : reopen_log(std::move(path), earliest_ms)),
      keeper_(keeper) {
  if (begin == LogBegin::kResumed) {
    started_at_ms_ = run_start_of(log_.path());
    started_ = running_ = true;
    log_.let_lines_wait(kMostWaiting);
  }
  if (keeper_) keeper_->keep(log_.path());
  try {
    interruption_ = std::make_unique<Interruption>();
    watcher_ = start_thread("cannot start a thread that watches for signals", [this] { watch(); });
  } catch (...) {
    close();
    throw;
  }
}

ExperimentLog::~ExperimentLog() {
  finished_ = true;
  if (watcher_.joinable()) watcher_.join();
  try {
    close();
  } catch (const std::exception&) {
    // A run that is unfinished here was ended by an exception, which says why.
  }
  if (keeper_) keeper_->keep({});
}

void ExperimentLog::write(const std::function<void(mllog::LogWriter&)>& write) {
  const std::lock_guard lock(mutex_);
  if (!closed_) write(log_);
}

void ExperimentLog::run_start() {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  log_.start(log_keys::kRunStart);
  started_at_ms_ = log_.last_time_ms();
  started_ = running_ = true;
  log_.let_lines_wait(kMostWaiting);
}

void ExperimentLog::run_stop(bool success, int64_t samples) {
  const std::lock_guard lock(mutex_);
  if (!running_ || stopping_) return;
  write_run_stop(success ? log_keys::kSuccess : log_keys::kAborted, samples);
  stopped_at_ms_ = log_.last_time_ms();
  stopping_ = !log_.waiting().empty();
  running_ = stopping_;
}

bool ExperimentLog::write_run_stop_that_waits() {
  if (!stopping_ || !log_.write_waiting()) return false;
  log_.flush();
  running_ = stopping_ = false;
  return true;
}

void ExperimentLog::require_run_stop(std::chrono::seconds longest) {
  for (const auto end = std::chrono::steady_clock::now() + longest;;) {
    {
      const std::lock_guard lock(mutex_);
      if (!stopping_ || write_run_stop_that_waits()) return;
      if (std::chrono::steady_clock::now() >= end) break;
    }
    std::this_thread::sleep_for(kBetweenAttempts);
  }
  fail(
      "{}: the run has ended, but its last events, among them run_stop, cannot be written: {}; the "
      "log ends as aborted. Free some space; --resume then continues from the last checkpoint, if "
      "there is one",
      log_.path().string(), std::strerror(log_.waiting_because()));
}

void ExperimentLog::write_run_stop(const char* status, std::optional<int64_t> samples) {
  const auto write = [&] {
    mllog::EventMetadata metadata = {{log_keys::kStatus, status}};
    if (samples) metadata.push_back({log_keys::kEpochNum, *samples});
    log_.end(log_keys::kRunStop, {}, metadata);
  };
  try {
    write();
  } catch (const std::bad_alloc&) {  // nothing has been written
    kept_for_the_end_ = {};
    write();
  }
}

std::string ExperimentLog::text() {
  const std::lock_guard lock(mutex_);
  return log_.enabled() ? read_file(log_.path()) + log_.waiting() : std::string();
}

void ExperimentLog::discard() {
  const std::lock_guard lock(mutex_);
  started_ = running_ = false;
}

ExperimentLog::Closed ExperimentLog::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  if (!started_ && log_.enabled()) remove_not_begun(log_.path());
  if (!running_) return started_ ? Closed::kEnded : Closed::kNotBegun;
  if (write_run_stop_that_waits()) return Closed::kEnded;
  running_ = stopping_ = false;
  if (!log_.write_waiting()) {
    const auto lost = std::ranges::count(log_.waiting(), '\n');
    log_.drop_waiting();
    print_to_stderr("\nstrata: {}: lacks the last {} before run_stop: {}\n", log_.path().string(),
                    counted(lost, "event"), std::strerror(log_.waiting_because()));
  }
  log_.let_lines_wait(0);
  write_run_stop(log_keys::kAborted, {});
  return Closed::kAborted;
}

std::string ExperimentLog::farewell() {
  switch (close()) {
    case Closed::kNotBegun:
      return "\nstrata: interrupted before the run began; it left no log\n";
    case Closed::kAborted:
      return fmt::format(
          "\n"
          "strata: interrupted; {} ends with run_stop aborted. --resume continues from its last "
          "checkpoint, if there is one; --continue archives it and runs it again.\n",
          log_.path().string());
    case Closed::kEnded:
      return fmt::format(
          "\n"
          "strata: interrupted after the run had ended; {} is complete, but files that are written "
          "after it (weights, timeline) may be missing\n",
          log_.path().string());
  }
  return "";
}

void ExperimentLog::watch() {
  while (!finished_) {
    if (interruption_->requested()) {
      int exit_code = 128 + interruption_->signal();
      std::string message;
      try {
        message = farewell();
      } catch (const std::exception& error) {
        message = fmt::format("\nstrata: interrupted, and {}\n", error.what());
        exit_code = 2;
      }
      // Exits at once, because another thread may wait in a collective for a rank that is gone.
      std::fputs(message.c_str(), stderr);
      ::_exit(exit_code);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace strata::harness
