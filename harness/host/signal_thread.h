// Keeps signal handlers off the threads that compute.
#pragma once

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

namespace strata::harness {

// A sleeping thread that receives this process's signals. While it lives, its maker and all threads
// that the maker starts block signals, except those that a thread causes itself.
// oneDNN's sgemm kernels point the stack register into the heap, so that any handler on their
// thread destroys memory (uxlfoundation/oneDNN issue 4845; not fixed in Debian 12's oneDNN 2.6).
class SignalThread {
 public:
  // Returns when the thread sleeps. Throws Error if it cannot be started.
  SignalThread();
  ~SignalThread();
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  void sleep();

  sigset_t before_;  // signal mask of the thread that made it
  std::mutex mutex_;
  std::condition_variable changed_;
  bool sleeping_ = false, stopping_ = false;
  std::thread thread_;
};

}  // namespace strata::harness
