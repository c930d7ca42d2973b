// Ends an experiment's log where the process that writes it is killed.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace strata::harness {

// Ends the log of a process that is gone: run_stop with status aborted where its run was on; where
// the run had not begun the log is removed, and its configuration. A log that has its run_stop
// stays as it is. Returns whether it wrote run_stop. Throws Error where the log cannot be read or
// written to.
bool end_abandoned_log(const std::filesystem::path& log);

// A process that outlives this one: neither what kills this one nor its launcher's signals to its
// process group reach it. (What kills all processes does: a machine that fails, a control group
// that is ended, as Slurm ends a step without grace.) It sleeps until this one is gone, then ends
// the log that it was given last, says so on standard error, and leaves.
class LogKeeper {
 public:
  // Forks: call it while this process has one thread and little memory. Throws Error where there
  // can be no further process.
  LogKeeper();
  // It leaves, and touches no log.
  ~LogKeeper();
  LogKeeper(const LogKeeper&) = delete;
  LogKeeper& operator=(const LogKeeper&) = delete;

  // From now on this is the log to end; an empty path: none.
  void keep(const std::filesystem::path& log) noexcept;

 private:
  int socket_ = -1;
  pid_t keeper_ = -1;
};

}  // namespace strata::harness
