#include "bench/devices/rounding_device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "device/reference/sums/rounded_sum.h"

namespace strata::bench {
namespace {

using device::ConstTensor;
using device::DType;
using device::Tensor;

constexpr int64_t kTokens = 7, kOut = 37;

// Returns random bf16 numbers.
std::vector<float> drawn(int64_t count, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(device::BFloat16(normal(engine)));
  return values;
}

class RoundingDevice : public testing::TestWithParam<std::tuple<int, int64_t, int64_t>> {};

// One addition in 2^15 may differ, so hardly one of these few thousand dot products does.
TEST_P(RoundingDevice, AddsLikeTheReference) {
  const auto [bits, chunk, terms] = GetParam();
  const std::vector<float> x = drawn(kTokens * terms, 1), weight = drawn(kOut * terms, 2),
                           bias = drawn(kOut, 3);
  std::vector<float> y(kTokens * kOut), expected(kTokens * kOut);
  const ConstTensor x_tensor(x.data(), DType::kF32, kTokens, terms),
      weight_tensor(weight.data(), DType::kF32, kOut, terms);
  const auto device = make_rounding_device({.mantissa_bits = bits, .chunk = chunk}, 2);
  device->linear_forward(device::Stream::kCompute,
                         {.x = x_tensor,
                          .weight = weight_tensor,
                          .bias = ConstTensor(bias.data(), DType::kF32, 1, kOut),
                          .y = Tensor(y.data(), DType::kF32, kTokens, kOut)});
  device::reference::rounded_matmul(
      {.x = x_tensor,
       .weight = weight_tensor,
       .sum = {.format = {.exponent_bits = 8, .mantissa_bits = bits}, .chunk = chunk},
       .y = Tensor(expected.data(), DType::kF32, kTokens, kOut)});
  int differing = 0;
  for (size_t i = 0; i < y.size(); ++i) differing += y[i] != expected[i] + bias[i % kOut];
  EXPECT_LE(differing, 2);
}

INSTANTIATE_TEST_SUITE_P(Sums, RoundingDevice,
                         testing::Combine(testing::Values(5, 7, 9), testing::Values(0, 4, 64),
                                          testing::Values(3, 64, 130, 384)));

TEST(RoundingDeviceErrors, ImpossibleFormatsAreRefused) {
  EXPECT_THROW(make_rounding_device({.mantissa_bits = 23}, 1), Error);
  EXPECT_THROW(make_rounding_device({.mantissa_bits = 7, .chunk = 1}, 1), Error);
}

}  // namespace
}  // namespace strata::bench
