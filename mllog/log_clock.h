// The clock of a log's events: the wall clock at the start of the log, continued by the steady
// clock.
#pragma once

#include <cstdint>
#include <functional>

namespace strata::mllog {

// Milliseconds of a clock.
using ReadClock = std::function<int64_t()>;

// Event times must not depend on changes of the machine's clock.
class LogClock {
 public:
  // Uses the system's clocks or the given ones: wall in milliseconds since 1970, steady since any
  // time.
  LogClock();
  LogClock(ReadClock wall, ReadClock steady);

  // Milliseconds since 1970.
  int64_t now() const { return wall_begin_ + (steady_() - steady_begin_); }
  // Moves now() forward to `earliest_ms` if it is earlier, for example in a log that another
  // machine began, or if the machine's clock was set back since.
  void start_no_earlier_than(int64_t earliest_ms);
  // Milliseconds by which start_no_earlier_than() has moved now() forward.
  int64_t moved_forward_by() const { return moved_forward_by_; }
  // Milliseconds by which the wall clock was set forward (negative: back) since the start.
  int64_t wall_clock_set_by() const { return wall_() - (now() - moved_forward_by_); }

 private:
  ReadClock wall_, steady_;
  int64_t wall_begin_, steady_begin_;
  int64_t moved_forward_by_ = 0;
};

}  // namespace strata::mllog
