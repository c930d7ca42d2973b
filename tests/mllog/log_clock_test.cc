#include "mllog/log_clock.h"

#include <gtest/gtest.h>

#include <chrono>

namespace strata::mllog {
namespace {

TEST(LogClock, SettingTheWallClockDoesNotChangeTimes) {
  int64_t wall = 1'700'000'000'000, steady = 5'000;
  const LogClock clock([&] { return wall; }, [&] { return steady; });
  EXPECT_EQ(clock.now(), 1'700'000'000'000);
  wall += 2'000;
  steady += 2'000;
  EXPECT_EQ(clock.now(), 1'700'000'002'000);
  EXPECT_EQ(clock.wall_clock_set_by(), 0);
  wall -= 3'600'000;
  steady += 10;
  EXPECT_EQ(clock.now(), 1'700'000'002'010);
  EXPECT_EQ(clock.wall_clock_set_by(), -3'600'010);
}

TEST(LogClock, StartsNoEarlierThanItIsTold) {
  int64_t wall = 1'000'000, steady = 5'000;
  LogClock clock([&] { return wall; }, [&] { return steady; });
  clock.start_no_earlier_than(900'000);
  EXPECT_EQ(clock.moved_forward_by(), 0) << "it is later already";
  clock.start_no_earlier_than(4'600'000);
  EXPECT_EQ(clock.moved_forward_by(), 3'600'000);
  wall += 250;
  steady += 250;
  EXPECT_EQ(clock.now(), 4'600'250) << "time goes on";
  EXPECT_EQ(clock.wall_clock_set_by(), 0) << "nobody has set the machine's clock";
}

TEST(LogClock, ReturnsTheCurrentTimeByDefault) {
  const LogClock clock;
  const auto wall = std::chrono::duration_cast<std::chrono::milliseconds>(
                        std::chrono::system_clock::now().time_since_epoch())
                        .count();
  EXPECT_NEAR(static_cast<double>(clock.now()), static_cast<double>(wall), 10'000);
}

}  // namespace
}  // namespace strata::mllog
