#include "device/cuda/runtime/autotune.h"

#include <gtest/gtest.h>

#include <vector>

namespace strata::device::cuda {
namespace {

class Autotune : public testing::Test {
 protected:
  void TearDown() override { emulated_cuda::launch_ticks = 0; }

  // Gives the GPU work of `ticks` nanoseconds.
  void work(uint64_t ticks) {
    ++runs_;
    emulated_cuda::issue("a kernel", [=] { emulated_cuda::ticks += ticks; });
  }
  int runs_ = 0;
};

TEST_F(Autotune, TimesDoNotIncludeLaunchOverhead) {
  emulated_cuda::launch_ticks = 8000;
  EXPECT_FLOAT_EQ(milliseconds(nullptr, [&] { work(2000); }), 0.002f);
  EXPECT_FLOAT_EQ(milliseconds(nullptr, [&] { work(500'000); }), 0.5f);
}

TEST_F(Autotune, ShortWorkIsRepeatedMore) {
  milliseconds(nullptr, [&] { work(2000); });
  EXPECT_EQ(runs_, 3 + 20);
  runs_ = 0;
  milliseconds(nullptr, [&] { work(100'000); });
  EXPECT_EQ(runs_, 3 + 10);
  runs_ = 0;
  milliseconds(nullptr, [&] { work(5'000'000); });
  EXPECT_EQ(runs_, 3);
}

TEST_F(Autotune, TheFirstStaysUnlessAnotherIsClearlyFaster) {
  const auto first = [](std::vector<float> times) { return first_of_fastest(times); };
  EXPECT_EQ(first({1.0f, 0.98f}), 0u);
  EXPECT_EQ(first({1.0f, 0.96f}), 1u);
  EXPECT_EQ(first({1.0f, 0.93f, 0.91f}), 1u);
  EXPECT_EQ(first({kNever, 2.0f}), 1u);
  EXPECT_EQ(first({kNever, kNever}), std::nullopt);
  EXPECT_EQ(first({}), std::nullopt);
}

}  // namespace
}  // namespace strata::device::cuda
