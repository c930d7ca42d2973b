#include "harness/host/signal_thread.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

namespace strata::harness {
namespace {

std::atomic<pid_t> handled_by = 0;

// Sends this process a signal, like a terminal, and returns the thread that ran its handler.
pid_t handler_thread(int number) {
  handled_by = 0;
  struct sigaction action = {}, before;
  action.sa_handler = [](int) { handled_by = ::gettid(); };
  sigaction(number, &action, &before);
  ::kill(::getpid(), number);
  for (int i = 0; i < 10'000 && handled_by == 0; ++i) ::usleep(1000);
  sigaction(number, &before, nullptr);
  return handled_by;
}

pid_t handler_thread_while_another_waits(int number, pid_t& another) {
  pid_t handler = 0;
  std::thread([&] {
    another = ::gettid();
    handler = handler_thread(number);
  }).join();
  return handler;
}

TEST(SignalThread, WithoutASignalThreadTheFirstThreadRunsHandlers) {
  EXPECT_EQ(handler_thread(SIGTERM), ::getpid());
}

TEST(SignalThread, TakesEverySignalSentToTheProcess) {
  const SignalThread signal_thread;
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGPROF, SIGALRM}) {
    pid_t another = 0;
    for (const pid_t handler :
         {handler_thread(number), handler_thread_while_another_waits(number, another)}) {
      EXPECT_NE(handler, 0) << number << " was lost";
      EXPECT_NE(handler, ::getpid()) << number;
      EXPECT_NE(handler, another) << number;
    }
  }
}

TEST(SignalThread, LeavesFaultsToTheThreadThatHasThem) {
  const SignalThread signal_thread;
  struct sigaction action = {}, before;
  action.sa_handler = [](int) { handled_by = ::gettid(); };
  for (const int number : {SIGFPE, SIGPIPE}) {
    handled_by = 0;
    sigaction(number, &action, &before);
    ::raise(number);
    sigaction(number, &before, nullptr);
    EXPECT_EQ(handled_by, ::getpid()) << number;
  }
}

TEST(SignalThread, RestoresTheSignalMask) {
  sigset_t before, after;
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  { const SignalThread signal_thread; }
  pthread_sigmask(SIG_BLOCK, nullptr, &after);
  for (int number = 1; number < NSIG; ++number) {
    EXPECT_EQ(sigismember(&before, number), sigismember(&after, number)) << number;
  }
}

TEST(SignalThread, KeepsTheDefaultActionOfSignals) {
  EXPECT_EXIT(
      {
        const SignalThread signal_thread;
        ::kill(::getpid(), SIGTERM);
        ::sleep(10);
        ::_exit(0);
      },
      testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace strata::harness
