// Random events of a process, drawn from a seed.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "base/numbers/random.h"

namespace strata::simulation {

// Thread-safe: each number depends only on the seed and a count.
class Chaos {
 public:
  // The process kills itself in call number `dies_at` of moment(); 0: never.
  Chaos(uint64_t seed, int64_t dies_at) : seed_(seed), dies_at_(dies_at) {}

  // Called at every operation that may be interrupted. One call in eight pauses for up to 200 us.
  void moment() {
    const int64_t count = ++count_;
    if (count == dies_at_) ::kill(::getpid(), SIGKILL);
    const uint64_t drawn = splitmix64(seed_ + static_cast<uint64_t>(count));
    if (drawn % 8 == 0) ::usleep(static_cast<useconds_t>(drawn / 8 % 200));
  }

  int64_t moments() const { return count_; }

 private:
  uint64_t seed_;
  int64_t dies_at_;
  std::atomic<int64_t> count_ = 0;
};

}  // namespace strata::simulation
