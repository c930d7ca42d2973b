// Ends an experiment's log if the process that writes it is killed.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace strata::harness {

// Ends the log of a process that is gone: writes run_stop with status aborted if its run had begun,
// or else removes the log and its configuration. A log that ends with run_stop stays. Returns
// whether it wrote run_stop. Throws Error if the log cannot be read or written.
bool end_abandoned_log(const std::filesystem::path& log);

// A process that outlives this one. It survives if this process is killed, or if its launcher
// signals the process group. (It does not survive a machine failure, or the end of a control group,
// as when Slurm ends a step without grace.) It sleeps until this process is gone, then ends the log
// that it was given last, reports it on standard error, and exits.
class LogKeeper {
 public:
  // Forks, so call it while this process has one thread and little memory. Throws Error if no
  // process can be started.
  LogKeeper();
  // Ends the keeper, which then touches no log.
  ~LogKeeper();
  LogKeeper(const LogKeeper&) = delete;
  LogKeeper& operator=(const LogKeeper&) = delete;

  // Makes `log` the log to end; an empty path: none.
  void keep(const std::filesystem::path& log) noexcept;

 private:
  int socket_ = -1;
  pid_t keeper_ = -1;
};

}  // namespace strata::harness
