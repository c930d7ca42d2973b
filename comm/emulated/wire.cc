#include "comm/emulated/wire.h"

#include <algorithm>

namespace strata::comm {
namespace {

Clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

Wire::Transfer Wire::begin(double seconds, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  advance(now);
  auto slot = std::ranges::find_if(slots_, [](const Slot& each) { return !each.used; });
  if (slot == slots_.end()) slot = slots_.emplace(slot);
  *slot = {seconds, time_, true};
  return static_cast<Transfer>(slot - slots_.begin());
}

Clock::time_point Wire::end(Transfer transfer, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  advance(now);
  const Slot& slot = slots_[transfer];
  return slot.left > 0 ? time_ + duration_of(time_for(slot.left)) : slot.end;
}

void Wire::release(Transfer transfer) {
  const std::lock_guard lock(mutex_);
  slots_[transfer] = {};
}

double Wire::time_for(double left) const {
  double time = 0;
  for (const Slot& slot : slots_) time += std::min(slot.left, left);
  return time;
}

void Wire::advance(Clock::time_point now) {
  while (time_ < now) {
    double least = 0;
    int sharing = 0;
    for (const Slot& slot : slots_) {
      if (slot.left <= 0) continue;
      least = sharing++ > 0 ? std::min(least, slot.left) : slot.left;
    }
    if (sharing == 0) break;
    const Clock::time_point next = time_ + duration_of(least * sharing);
    const double sent =
        next <= now ? least : std::min(least, seconds_between(time_, now) / sharing);
    time_ = std::min(next, now);
    for (Slot& slot : slots_) {
      if (slot.left <= 0) continue;
      // Rounds times below the clock's resolution to zero.
      slot.left = slot.left - sent < 1e-9 ? 0 : slot.left - sent;
      slot.end = time_;
    }
  }
  time_ = std::max(time_, now);
}

}  // namespace strata::comm
