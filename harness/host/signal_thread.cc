#include "harness/host/signal_thread.h"

#include "base/threads/start_thread.h"

namespace strata::harness {

SignalThread::SignalThread() {
  sigset_t blocked;
  sigfillset(&blocked);
  // Signals that a thread causes itself must reach it.
  for (const int own :
       {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPIPE, SIGXFSZ})
    sigdelset(&blocked, own);
  pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  try {
    thread_ = start_thread("cannot start a thread that receives signals", [this] { sleep(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    throw;
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return sleeping_; });
}

SignalThread::~SignalThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void SignalThread::sleep() {
  std::unique_lock lock(mutex_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  sleeping_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return stopping_; });
}

}  // namespace strata::harness
