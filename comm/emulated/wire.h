// An emulated wire, which computes how long transfers take.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "base/timing.h"

namespace strata::comm {

// Concurrent transfers share the wire's bandwidth evenly, like flows through one network interface.
// Thread-safe. If `now` is earlier than in a previous call, the latest time given counts.
class Wire {
 public:
  // Identifies a transfer until release().
  using Transfer = size_t;

  // Begins a transfer that takes `seconds` if it has the wire to itself.
  Transfer begin(double seconds, Clock::time_point now);
  // Returns when the transfer ends if no other begins before then.
  Clock::time_point end(Transfer transfer, Clock::time_point now);
  void release(Transfer transfer);

 private:
  struct Slot {
    double left = 0;  // remaining seconds at full bandwidth; 0 when done
    Clock::time_point end;
    bool used = false;
  };

  void advance(Clock::time_point now);
  // Returns the seconds until a transfer with `left` seconds at full bandwidth ends.
  double time_for(double left) const;

  std::mutex mutex_;
  Clock::time_point time_;  // slots are up to date until this time
  std::vector<Slot> slots_;
};

}  // namespace strata::comm
