// Catches Ctrl-C and the signals of closed terminals and of launchers, so that no result is lost.
#pragma once

#include <csignal>

namespace strata::harness {

// While the object lives, the first SIGINT, SIGTERM or SIGHUP sets a flag, which the owner polls. A
// second one, more than half a second later, ends the process at once (a terminal and a launcher
// may both deliver the same Ctrl-C). An ignored SIGHUP, as under nohup, stays ignored. SIGXFSZ and
// SIGPIPE become write errors. Only one object may exist at a time; it restores the handlers that
// it replaced.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool requested() const noexcept { return signal() != 0; }
  int signal() const noexcept;  // SIGINT, SIGTERM, SIGHUP, or 0 if there was none

 private:
  struct sigaction previous_int_;
  struct sigaction previous_term_;
  struct sigaction previous_hangup_;
  struct sigaction previous_size_;
  struct sigaction previous_pipe_;
};

}  // namespace strata::harness
