#include "bench/devices/sleeping_device.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/timing.h"

namespace strata::bench {
namespace {

TEST(SleepingDevice, TakesTheTimeOfTheArithmetic) {
  const auto device = make_sleeping_device(1e6);
  const device::ConstTensor x{nullptr, device::DType::kF32, 10, 20};
  const device::ConstTensor weight{nullptr, device::DType::kF32, 50, 20};
  const auto begin = Clock::now();
  for (int i = 0; i < 3; ++i) {
    device->linear_forward(device::Stream::kCompute, {.x = x, .weight = weight});
  }
  EXPECT_GE(seconds_since(begin), 3 * 2 * 10 * 20 * 50 / 1e6);
  EXPECT_THROW(make_sleeping_device(0), Error);
}

// While its host waits for others, a device has no work. Its next work begins afterwards.
TEST(SleepingDevice, DoesNotMakeUpForTheWaitsOfItsHost) {
  const auto device = make_sleeping_device(1e6);
  const device::ConstTensor x{nullptr, device::DType::kF32, 10, 20};
  const device::ConstTensor weight{nullptr, device::DType::kF32, 50, 20};
  constexpr auto kWait = std::chrono::milliseconds(4);
  constexpr int kTimes = 3;
  const auto begin = Clock::now();
  for (int i = 0; i < kTimes; ++i) {
    std::this_thread::sleep_for(kWait);
    device->linear_forward(device::Stream::kCompute, {.x = x, .weight = weight});
  }
  EXPECT_GE(seconds_since(begin), kTimes * (2 * 10 * 20 * 50 / 1e6 + 4e-3));
}

}  // namespace
}  // namespace strata::bench
