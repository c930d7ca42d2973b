#include "harness/interruption.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <type_traits>

namespace strata::harness {
namespace {

TEST(Interruption, TheFirstSignalIsAFlag) {
  for (const int number : {SIGINT, SIGTERM}) {
    const Interruption interruption;
    EXPECT_FALSE(interruption.requested());
    std::raise(number);
    EXPECT_TRUE(interruption.requested());
    EXPECT_EQ(interruption.signal(), number);
  }
}

TEST(Interruption, TheSameCtrlCMayArriveTwice) {
  const Interruption interruption;
  std::raise(SIGINT);
  std::raise(SIGTERM);
  EXPECT_EQ(interruption.signal(), SIGINT);
}

TEST(InterruptionDeathTest, AnotherOneLaterEndsTheProcess) {
  EXPECT_EXIT(
      {
        const Interruption interruption;
        for (int i = 0; i < 100; ++i) {
          std::raise(SIGINT);
          ::usleep(50'000);
        }
        ::_exit(0);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(Interruption, HandlersAreRestored) {
  const auto handler = [](int) {};
  const auto previous = std::signal(SIGTERM, handler);
  { const Interruption interruption; }
  EXPECT_EQ(std::signal(SIGTERM, previous), static_cast<void (*)(int)>(handler));
}

TEST(Interruption, AFileThatGrowsTooLargeIsNoFatalSignal) {
  const Interruption interruption;
  struct sigaction action;
  sigaction(SIGXFSZ, nullptr, &action);
  EXPECT_EQ(action.sa_handler, SIG_IGN);
}

}  // namespace
}  // namespace strata::harness
