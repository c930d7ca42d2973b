// Keeps signal handlers off the threads that compute.
#pragma once

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

namespace strata::harness {

// A thread that sleeps and receives this process's signals. While it lives, the thread that made it
// and every thread started from that one block them, faults and broken pipes excepted. oneDNN's
// sgemm kernels point the stack register into the heap (uxlfoundation/oneDNN issue 4845, fixed in
// 2026, Debian 12 has 2.6), so that a handler on their thread, however small, destroys memory.
class SignalThread {
 public:
  // Returns when the thread sleeps. Throws Error where none can be started.
  SignalThread();
  ~SignalThread();
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  void sleep();

  sigset_t before_;  // the maker's mask
  std::mutex mutex_;
  std::condition_variable changed_;
  bool sleeping_ = false, stopping_ = false;
  std::thread thread_;
};

}  // namespace strata::harness
