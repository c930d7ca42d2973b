// Ends a job in which ranks wait for a rank that hangs.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/links/collectives.h"

namespace strata::comm {

class DeviceWaits;

// Shared by all communicators of a process. Ranks that have waited too long tell each other their
// operation, so that the message can name the ranks that wait and those that do not.
class StallWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // All ranks construct together.
  StallWatch();
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // Limits the time of a wait; 0 means no limit. Thread-safe.
  void set_limit(double seconds) { limit_seconds_ = seconds; }

  // One wait of one thread. The time between two checks counts as at most 100 ms, because a longer
  // gap means that the process itself was suspended or starved.
  struct Wait {
    const char* operation = nullptr;
    Clock::time_point checked = Clock::now();
    Clock::duration waited = Clock::duration::zero();
  };
  // Called repeatedly by a waiting thread. Returns if it has waited no longer than the limit.
  // Otherwise collects reports from other ranks and ends the job with exit code 2.
  void check(Wait& wait) {
    constexpr Clock::duration kLongestStep = std::chrono::milliseconds(100);
    const Clock::time_point now = Clock::now();
    wait.waited += std::min(now - std::exchange(wait.checked, now), kLongestStep);
    const double limit = limit_seconds_;
    if (limit > 0 && wait.waited > std::chrono::duration<double>(limit)) {
      end_job(wait.operation, limit);
    }
  }

  // Watches waits for a device, during which the waiting thread cannot call check(). The first call
  // of device_waits() starts a thread that calls check() for it.
  device::HostWaits& device_waits();
  // Prints "strata: rank R: error" and ends the job with exit code 2.
  [[noreturn]] void end_job_with(const std::string& error);

 private:
  [[noreturn]] void end_job(const char* operation, double limit);
  void tell(const std::string& operation);
  void listen(Clock::duration time);

  MPI_Comm communicator_;
  int rank_ = 0;
  int size_ = 1;
  std::atomic<double> limit_seconds_ = 0;
  std::mutex mutex_;
  std::vector<std::string> waits_in_;  // every rank's operation; empty if unknown
  std::once_flag device_waited_;
  std::unique_ptr<DeviceWaits> device_waits_;
};

// A thread that checks the waits of all other threads every 50 ms. begin() takes no lock because
// every device operation calls it.
class DeviceWaits final : public device::HostWaits {
 public:
  explicit DeviceWaits(StallWatch& stall);
  int begin(const char* operation) override;
  void end(int wait) override;
  int add_check(std::function<std::string()> error) override;
  void remove_check(int check) override;

 private:
  // A thread's wait; a nested wait has a slot of its own.
  struct Slot {
    std::atomic<const char*> operation = nullptr;  // null: the slot is free
    std::atomic<uint64_t> ended = 0;               // number of waits that have ended in this slot
  };
  static constexpr size_t kSlots = 16;  // further simultaneous waits are not watched

  void watch(const std::stop_token& stop);

  StallWatch& stall_;
  std::array<Slot, kSlots> slots_;
  std::mutex mutex_;  // guards checks_ and next_check_
  std::condition_variable_any stopped_;
  std::map<int, std::function<std::string()>> checks_;
  int next_check_ = 0;
  std::jthread thread_;  // last member: it uses the others
};

// Waits for `request`, at most until `stall` ends the job, without occupying a core that compute
// could use.
void wait_for(MPI_Request request, const char* operation, StallWatch& stall);

// Returns the message of rank `speaker`, which has waited for `seconds`. `waits_in` holds every
// rank's operation, as far as the speaker knows, or an empty string.
std::string stall_message(int speaker, double seconds, const std::vector<std::string>& waits_in);

}  // namespace strata::comm
