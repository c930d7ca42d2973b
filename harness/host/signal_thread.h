// Keeps signal handlers off the threads that compute.
#pragma once

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

namespace strata::harness {

// A sleeping thread that receives this process's signals. While it lives, the thread that made it
// blocks signals, except those that it causes itself, and so do all threads started from there.
// oneDNN's sgemm kernels point the stack register into the heap, so that any handler on their
// thread destroys memory (uxlfoundation/oneDNN issue 4845, fixed in 2026; Debian 12 has 2.6).
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
