// The time of a log's events: the wall clock's when the log begins, the steady clock's from then
// on.
#pragma once

#include <cstdint>
#include <functional>

namespace strata::mllog {

// Milliseconds of a clock.
using ReadClock = std::function<int64_t()>;

// An event's time must not depend on anybody setting the machine's clock.
class LogClock {
 public:
  // Reads the system's clocks, or those given: wall in milliseconds since 1970, steady since any
  // moment.
  LogClock();
  LogClock(ReadClock wall, ReadClock steady);

  // Milliseconds since 1970.
  int64_t now() const { return wall_begin_ + (steady_() - steady_begin_); }
  // Moves now() forward to `earliest_ms` if it is earlier, as in a log that another machine began
  // or that was begun before the machine's clock was set back.
  void start_no_earlier_than(int64_t earliest_ms);
  // How many milliseconds start_no_earlier_than() has moved now() forward.
  int64_t moved_forward_by() const { return moved_forward_by_; }
  // By how many milliseconds the wall clock has been set forward (negative: back) since the start.
  int64_t wall_clock_set_by() const { return wall_() - (now() - moved_forward_by_); }

 private:
  ReadClock wall_, steady_;
  int64_t wall_begin_, steady_begin_;
  int64_t moved_forward_by_ = 0;
};

}  // namespace strata::mllog
