#include "harness/host/interruption.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <type_traits>

namespace strata::harness {
namespace {

TEST(Interruption, TheFirstSignalOnlySetsAFlag) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
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

TEST(InterruptionDeathTest, ALaterSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        const Interruption interruption;
        std::raise(SIGINT);
        ::usleep(600'000);  // after the time in which the same event may arrive again
        std::raise(SIGINT);
        ::_exit(0);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(Interruption, AnIgnoredHangupStaysIgnored) {
  const auto previous = std::signal(SIGHUP, SIG_IGN);
  {
    const Interruption interruption;
    std::raise(SIGHUP);
    EXPECT_FALSE(interruption.requested());
  }
  EXPECT_EQ(std::signal(SIGHUP, previous), SIG_IGN);
}

TEST(Interruption, HandlersAreRestored) {
  const auto handler = [](int) {};
  const auto previous = std::signal(SIGTERM, handler);
  { const Interruption interruption; }
  EXPECT_EQ(std::signal(SIGTERM, previous), static_cast<void (*)(int)>(handler));
}

TEST(Interruption, AFailedWriteDoesNotEndTheProcess) {
  const Interruption interruption;
  for (const int number : {SIGXFSZ, SIGPIPE}) EXPECT_EQ(std::raise(number), 0);
  EXPECT_FALSE(interruption.requested());
}

}  // namespace
}  // namespace strata::harness
