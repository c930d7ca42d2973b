// Ends a job whose ranks wait for one that does not come.
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

// Shared by all communicators of a process. Ranks that have waited too long tell each other in
// which operation, so that the message names those that wait and those that do not.
class StallWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // All ranks construct together.
  StallWatch();
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // How long a collective may take; 0: for ever. Any thread.
  void set_limit(double seconds) { limit_seconds_ = seconds; }

  // One wait of one thread. A check that comes late does not count in full: the process itself was
  // stopped, or did not get to run.
  struct Wait {
    const char* operation = nullptr;
    Clock::time_point checked = Clock::now();
    Clock::duration waited = Clock::duration::zero();
  };
  // For a thread that waits, now and then: returns while it has waited no longer than the limit.
  // Else ends the job with exit code 2, after a while in which other ranks are heard.
  void check(Wait& wait) {
    constexpr Clock::duration kLongestStep = std::chrono::milliseconds(100);
    const Clock::time_point now = Clock::now();
    wait.waited += std::min(now - std::exchange(wait.checked, now), kLongestStep);
    const double limit = limit_seconds_;
    if (limit > 0 && wait.waited > std::chrono::duration<double>(limit)) {
      end_job(wait.operation, limit);
    }
  }

  // Waits for a device, in which no thread can check; from the first call on one of its own does.
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
  std::vector<std::string> waits_in_;  // every rank's operation; empty where none is known
  std::once_flag device_waited_;
  std::unique_ptr<DeviceWaits> device_waits_;
};

// A thread that checks the waits of all other threads every 50 ms. begin() takes no lock because
// every operation on a device calls it.
class DeviceWaits final : public device::HostWaits {
 public:
  explicit DeviceWaits(StallWatch& stall);
  int begin(const char* operation) override;
  void end(int wait) override;
  int add_check(std::function<std::string()> error) override;
  void remove_check(int check) override;

 private:
  // A thread's wait, or one inside of it.
  struct Slot {
    std::atomic<const char*> operation = nullptr;  // null: the slot is free
    std::atomic<uint64_t> ended = 0;               // how many waits have ended in this slot
  };
  static constexpr size_t kSlots = 16;  // further waits at the same time are not watched

  void watch(const std::stop_token& stop);

  StallWatch& stall_;
  std::array<Slot, kSlots> slots_;
  std::mutex mutex_;  // guards checks_ and next_check_
  std::condition_variable_any stopped_;
  std::map<int, std::function<std::string()>> checks_;
  int next_check_ = 0;
  std::jthread thread_;  // the last member, as it uses the others
};

// Waits for `request`, and in the end for no longer than `stall` says, without holding a core that
// compute could use.
void wait_for(MPI_Request request, const char* operation, StallWatch& stall);

// What is said where rank `speaker` has waited for `seconds` and heard of the others what
// `waits_in` holds: of every rank its operation, or nothing.
std::string stall_message(int speaker, double seconds, const std::vector<std::string>& waits_in);

}  // namespace strata::comm
