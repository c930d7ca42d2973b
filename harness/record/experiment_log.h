// The log of one experiment on the rank that writes it. Its last events are written however the run
// ends.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "harness/host/interruption.h"
#include "harness/record/log_keeper.h"
#include "harness/record/run_log.h"

namespace strata::harness {

// kResumed appends to an interrupted run's log.
enum class LogBegin : uint8_t { kNew, kResumed };

// Writes the events of one experiment in MLPerf's order. Its own thread watches for SIGINT, SIGTERM
// and SIGHUP, because a launcher sends SIGTERM when another rank dies while this one waits in a
// collective. The thread then writes run_stop with status aborted if the run has begun, reports it
// on standard error, and ends the process.
class ExperimentLog {
 public:
  // Writes nothing and watches for nothing, on every rank but the first.
  ExperimentLog() = default;
  // A `keeper` closes the log even if the process is killed; it must outlive the log. A resumed
  // log's events are no earlier than `earliest_ms` (since 1970), whatever the machine's clock says.
  explicit ExperimentLog(std::filesystem::path path, LogKeeper* keeper = nullptr,
                         LogBegin begin = LogBegin::kNew, int64_t earliest_ms = 0);
  // Ends the log as aborted if an exception ended the run. Removes the log and the configuration of
  // a run that never began, so that it can be tried again.
  ~ExperimentLog();
  ExperimentLog(const ExperimentLog&) = delete;
  ExperimentLog& operator=(const ExperimentLog&) = delete;

  // Calls write(log), never while the watching thread writes.
  void write(const std::function<void(mllog::LogWriter&)>& write);
  void run_start();
  void run_stop(bool success, int64_t samples);
  // While the disk is full, the run's events wait in memory. If run_stop is among them, waits for
  // space. Throws Error if there is none; the log then ends as aborted.
  void require_run_stop(std::chrono::seconds longest = std::chrono::seconds(30));
  // Returns the file's text and the events that wait for space; empty on ranks without a log.
  std::string text();
  // Makes the destructor remove the log, as for a run that never began.
  void discard();
  // Returns the logged seconds between run_start and run_stop.
  double logged_seconds() const {
    return static_cast<double>(stopped_at_ms_ - started_at_ms_) * 1e-3;
  }
  // Returns how many seconds the machine's clock was behind the log's last event or `earliest_ms`.
  double clock_behind_by() const {
    return static_cast<double>(log_.clock().moved_forward_by()) * 1e-3;
  }
  // Returns by how many seconds the machine's clock was set forward since the log began.
  double wall_clock_set_by() const {
    return static_cast<double>(log_.clock().wall_clock_set_by()) * 1e-3;
  }

 private:
  static constexpr size_t kKeptForTheEnd = 1 << 16;  // in bytes

  void watch();
  bool write_run_stop_that_waits();
  // The run's state when its log was closed.
  enum class Closed : uint8_t { kNotBegun, kAborted, kEnded };
  Closed close();
  std::string farewell();  // closes the log and returns a message for the user
  void write_run_stop(const char* status, std::optional<int64_t> samples);

  // Freed if memory is too short to write run_stop. Allocated before log_ makes its file.
  std::vector<char> kept_for_the_end_ = std::vector<char>(kKeptForTheEnd);
  mllog::LogWriter log_;
  std::mutex mutex_;
  int64_t started_at_ms_ = 0, stopped_at_ms_ = 0;
  bool started_ = false;
  bool running_ = false;   // between run_start and run_stop
  bool stopping_ = false;  // run_stop waits for space
  LogKeeper* keeper_ = nullptr;
  bool closed_ = false;  // later events are lost: training goes on until the process ends
  std::unique_ptr<Interruption> interruption_;
  std::atomic<bool> finished_ = false;
  std::thread watcher_;
};

}  // namespace strata::harness
