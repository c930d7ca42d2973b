// The log of one experiment on the rank that writes it, closed properly whatever ends the run.
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
#include "harness/record/event_log.h"
#include "harness/record/log_keeper.h"

namespace strata::harness {

// kResumed: the log of an interrupted run, which is on, goes on.
enum class LogBegin : uint8_t { kNew, kResumed };

// Events of one experiment in MLPerf's order. A thread of its own watches for SIGINT, SIGTERM and
// SIGHUP (a launcher sends SIGTERM when another rank dies, while this one waits in a collective):
// it writes run_stop with status aborted where the run was on, says so on standard error, and ends
// the process.
class ExperimentLog {
 public:
  // A log that writes nothing and watches for nothing: for every rank but the first.
  ExperimentLog() = default;
  // A `keeper`, which outlives it, closes the log of a killed process, too. No event of a resumed
  // log is earlier than `earliest_ms` (since 1970), whatever the machine's clock says.
  explicit ExperimentLog(std::filesystem::path path, LogKeeper* keeper = nullptr,
                         LogBegin begin = LogBegin::kNew, int64_t earliest_ms = 0);
  // A run left by an exception ends its log as aborted; one that never started leaves no log and
  // no configuration, so that it can be tried again.
  ~ExperimentLog();
  ExperimentLog(const ExperimentLog&) = delete;
  ExperimentLog& operator=(const ExperimentLog&) = delete;

  // Calls write(log), never at the same time as the watching thread writes.
  void write(const std::function<void(EventLog&)>& write);
  void run_start();
  void run_stop(bool success, int64_t samples);
  // While the disk is full the events of a run that is on wait in memory. If run_stop is among
  // them, waits for space. Throws Error if there is none: the log then ends as aborted.
  void require_run_stop(std::chrono::seconds longest = std::chrono::seconds(30));
  // What the file holds so far and what waits for space in it; empty where nothing is written.
  std::string text();
  // Nothing came of it: it will leave no log.
  void discard();
  // Between run_start and run_stop, as the log has it.
  double logged_seconds() const {
    return static_cast<double>(stopped_at_ms_ - started_at_ms_) * 1e-3;
  }
  // How many seconds the machine's clock was behind the log's last event or `earliest_ms`.
  double clock_behind_by() const {
    return static_cast<double>(log_.clock().moved_forward_by()) * 1e-3;
  }
  // By how many seconds the machine's clock was set forward since the log began.
  double wall_clock_set_by() const {
    return static_cast<double>(log_.clock().wall_clock_set_by()) * 1e-3;
  }

 private:
  static constexpr size_t kKeptForTheEnd = 1 << 16;  // bytes

  void watch();
  bool write_run_stop_that_waits();
  enum class Closed : uint8_t { kNotBegun, kAborted, kEnded };  // as the run was then
  Closed close();
  std::string farewell();  // closes it, and says what became of it
  void write_run_stop(const char* status, std::optional<int64_t> samples);

  // Given back where there is no memory left to write run_stop. Before the log, which is a file.
  std::vector<char> kept_for_the_end_ = std::vector<char>(kKeptForTheEnd);
  EventLog log_;
  std::mutex mutex_;
  int64_t started_at_ms_ = 0, stopped_at_ms_ = 0;
  bool started_ = false;
  bool running_ = false;   // between run_start and run_stop
  bool stopping_ = false;  // run_stop waits for space
  LogKeeper* keeper_ = nullptr;
  bool closed_ = false;  // what comes after is lost: training goes on until the process ends
  std::unique_ptr<Interruption> interruption_;
  std::atomic<bool> finished_ = false;
  std::thread watcher_;
};

}  // namespace strata::harness
