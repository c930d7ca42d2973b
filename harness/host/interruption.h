// Ending a run on Ctrl-C, or with its terminal, without losing what it has written.
#pragma once

#include <csignal>

namespace strata::harness {

// While it lives, the first SIGINT, SIGTERM or SIGHUP sets a flag that the training loop polls, and
// a second one, more than half a second later, ends the process at once as if unhandled (a terminal
// and a launcher may both deliver the same Ctrl-C). A SIGHUP that is ignored, as under nohup, stays
// so. A file above the size limit and a pipe whose reader is gone are write errors instead of fatal
// signals. At most one at a time; restores what was installed before.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool requested() const noexcept { return signal() != 0; }
  int signal() const noexcept;  // SIGINT, SIGTERM, SIGHUP, or 0 where there was none

 private:
  struct sigaction previous_int_;
  struct sigaction previous_term_;
  struct sigaction previous_hangup_;
  struct sigaction previous_size_;
  struct sigaction previous_pipe_;
};

}  // namespace strata::harness
