#include "comm/emulated/slow_link.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "base/error.h"
#include "tests/comm/mirror_communicator.h"

namespace strata::comm {
namespace {

TEST(SlowLink, TakesTheTimeOfARing) {
  const Link link{.bytes_per_second = 1e9, .latency_seconds = 1e-3};
  EXPECT_DOUBLE_EQ(all_reduce_seconds(link, 1, 1e9), 0);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(link, 2, 1e9), 2e-3 + 1.0);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(link, 4, 1e9), 6e-3 + 1.5);
}

TEST(SlowLink, GivesTheSameSumNoEarlierThanStated) {
  auto link = make_slow_link(std::make_unique<MirrorCommunicator>(), {1e6, 1e-3})->duplicate();
  std::array<float, 1000> values = {1.0f, 2.0f};
  const auto begin = std::chrono::steady_clock::now();
  link->all_reduce_sum(values.data(), 1000, device::DType::kF32);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(6));
  EXPECT_EQ(values[0], 2.0f);
  EXPECT_EQ(values[1], 4.0f);
}

TEST(SlowLink, HalvesTakeHalfTheTime) {
  const auto link = make_slow_link(std::make_unique<MirrorCommunicator>(), {1e6, 1e-3});
  std::array<float, 1000> values = {1.0f, 2.0f};
  const auto begin = std::chrono::steady_clock::now();
  link->reduce_scatter_sum(values.data(), 1000, device::DType::kF32);
  const auto middle = std::chrono::steady_clock::now();
  link->all_gather(values.data(), 1000, device::DType::kF32);
  EXPECT_GE(middle - begin, std::chrono::milliseconds(3));
  EXPECT_GE(std::chrono::steady_clock::now() - middle, std::chrono::milliseconds(3));
  EXPECT_EQ(values[0], 2.0f);
  EXPECT_EQ(values[999], 7.0f) << "the other rank's";
}

TEST(SlowLink, RefusesImpossibleSpeedsAndLatencies) {
  EXPECT_THROW(make_slow_link(make_single_communicator(), {0, 0}), Error);
  EXPECT_THROW(make_slow_link(make_single_communicator(), {1, -1}), Error);
}

}  // namespace
}  // namespace strata::comm
