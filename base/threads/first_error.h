// Passes an exception from several threads to the thread that waits for them.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>

namespace strata {

// Needed because an exception that leaves a thread, or a thread of an OpenMP region, ends the
// process. Thread-safe, but rethrow() must follow all other calls.
class FirstError {
 public:
  // Calls work() and catches exceptions; keeps the first of all calls.
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
  // Rethrows the kept exception, if there is one.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  std::atomic<bool> thrown_ = false;
};

}  // namespace strata
