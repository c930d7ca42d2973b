// What several threads throw, for the thread that waits for them.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>

namespace strata {

// An exception that leaves a thread, or a thread of an OpenMP region, ends the process. Any thread
// may call the functions, but rethrow() comes after all of them.
class FirstError {
 public:
  // Calls work() and keeps what it throws; the first of all calls is kept.
  template <typename Work>
  void guard(const Work& work) noexcept {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      thrown_ = true;
    }
  }
  bool thrown() const noexcept { return thrown_; }
  // Throws what was kept; returns where there was nothing.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  std::atomic<bool> thrown_ = false;
};

}  // namespace strata
