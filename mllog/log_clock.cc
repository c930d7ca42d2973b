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

}  // namespace strata::mllog
