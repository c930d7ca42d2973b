// An emulated wire: how long what is sent over it takes.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "base/timing.h"

namespace strata::comm {

// Transfers under way at once share the wire's speed evenly, as flows through one network interface
// do. Any thread; a time before one that was given counts as that.
class Wire {
 public:
  // Names a transfer until release().
  using Transfer = size_t;

  // That takes `seconds` alone.
  Transfer begin(double seconds, Clock::time_point now);
  // When it is over, as far as is known at `now`: later, where others begin before that.
  Clock::time_point end(Transfer transfer, Clock::time_point now);
  void release(Transfer transfer);

 private:
  struct Slot {
    double left = 0;  // seconds, alone; 0: it is over
    Clock::time_point end;
    bool used = false;
  };

  void advance(Clock::time_point now);
  // Until `left` of a transfer is sent, where no other begins.
  double time_for(double left) const;

  std::mutex mutex_;
  Clock::time_point time_;  // until when slots have been reckoned
  std::vector<Slot> slots_;
};

}  // namespace strata::comm
