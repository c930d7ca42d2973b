#include "mllog/log_clock.h"

#include <chrono>
#include <utility>

namespace strata::mllog {
namespace {

template <typename Clock>
int64_t milliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch())
      .count();
}

}  // namespace

LogClock::LogClock()
    : LogClock(milliseconds<std::chrono::system_clock>, milliseconds<std::chrono::steady_clock>) {}

LogClock::LogClock(ReadClock wall, ReadClock steady)
    : wall_(std::move(wall)),
      steady_(std::move(steady)),
      wall_begin_(wall_()),
      steady_begin_(steady_()) {}

void LogClock::start_no_earlier_than(int64_t earliest_ms) {
  const int64_t behind_by = earliest_ms - now();
  if (behind_by <= 0) return;
  wall_begin_ += behind_by;
  moved_forward_by_ += behind_by;
}

}  // namespace strata::mllog
