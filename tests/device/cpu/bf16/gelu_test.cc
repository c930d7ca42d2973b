#include "device/cpu/bf16/gelu.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

namespace strata::device::cpu {
namespace {

float value_of(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

constexpr uint16_t kOne = 0x3f80;        // in bf16
constexpr double kRounding = 1.0 / 256;  // relative rounding error of bf16
constexpr double kDenormal = 0x1p-126;   // smaller numbers may count as 0

double gelu(Activation activation, double x) {
  if (activation == Activation::kGelu) return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return x / (1 + std::exp(-2 * inner));
}

double gelu_derivative(Activation activation, double x) {
  const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
  if (activation == Activation::kGelu) {
    return 0.5 * std::erfc(-x / std::numbers::sqrt2) + x * density;
  }
  const double scale = std::sqrt(2 / std::numbers::pi);
  const double inner = scale * (x + 0.044715 * x * x * x);
  const double tanh = std::tanh(inner);
  return 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * scale * (1 + 3 * 0.044715 * x * x);
}

class Bf16Gelu : public testing::TestWithParam<Activation> {
 protected:
  void SetUp() override {
    if (!bf16_gelu_takes(GetParam())) GTEST_SKIP() << "a processor without bf16 instructions";
  }

  // All bf16 numbers, including infinities and NaNs.
  static std::vector<uint16_t> all_numbers() {
    std::vector<uint16_t> numbers(1 << 16);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint16_t>(i);
    return numbers;
  }
};

INSTANTIATE_TEST_SUITE_P(Forms, Bf16Gelu, testing::Values(Activation::kGelu, Activation::kGeluTanh),
                         [](const auto& test) {
                           return test.param == Activation::kGelu ? "exact" : "tanh";
                         });

TEST_P(Bf16Gelu, IsAccurateForEveryNumber) {
  const std::vector<uint16_t> x = all_numbers();
  std::vector<uint16_t> y(x.size()), dx(x.size());
  const std::vector<uint16_t> dy(x.size(), kOne);
  const MatrixPart part{64, 1024, 1024};
  bf16_gelu_forward(GetParam(), part, x.data(), y.data());
  bf16_gelu_backward(GetParam(), part, dy.data(), x.data(), dx.data());
  for (size_t i = 0; i < x.size(); ++i) {
    const double input = value_of(x[i]);
    if (!std::isfinite(input)) {
      EXPECT_FALSE(std::isfinite(value_of(dx[i])) && std::isnan(input)) << input;
      EXPECT_FALSE(std::isfinite(value_of(y[i]))) << input;
      continue;
    }
    const double value = gelu(GetParam(), input), slope = gelu_derivative(GetParam(), input);
    ASSERT_NEAR(value_of(y[i]), value,
                kRounding * std::abs(value) + 3e-6 * std::abs(input) + kDenormal)
        << input;
    ASSERT_NEAR(value_of(dx[i]), slope, kRounding * std::abs(slope) + 2e-5) << input;
  }
}

TEST_P(Bf16Gelu, BackwardMultipliesByTheGradient) {
  const std::vector<uint16_t> x = all_numbers();
  std::vector<uint16_t> slope(x.size()), scaled(x.size());
  const MatrixPart part{1, 1 << 16, 1 << 16};
  bf16_gelu_backward(GetParam(), part, std::vector<uint16_t>(x.size(), kOne).data(), x.data(),
                     slope.data());
  constexpr uint16_t kMinusFour = 0xc080;
  bf16_gelu_backward(GetParam(), part, std::vector<uint16_t>(x.size(), kMinusFour).data(), x.data(),
                     scaled.data());
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(value_of(slope[i]))) continue;
    ASSERT_EQ(value_of(scaled[i]), -4 * value_of(slope[i])) << value_of(x[i]);
  }
}

// In place, with distant rows and row ends that do not fill a register.
TEST_P(Bf16Gelu, OnAPartOfAMatrixChangesOnlyThatPart) {
  constexpr int64_t kRows = 3, kStride = 80;
  constexpr uint16_t kGuard = 0x4242;
  for (const int64_t columns : {1, 15, 16, 17, 33, 64, 79}) {
    SCOPED_TRACE(columns);
    const MatrixPart part{kRows, columns, kStride};
    std::vector<uint16_t> x(kRows * kStride, kGuard), y(x.size()), dx(x.size(), kGuard);
    for (int64_t row = 0; row < kRows; ++row) {
      for (int64_t c = 0; c < columns; ++c) {
        x[row * kStride + c] = static_cast<uint16_t>(0x3e00 + 37 * row + 11 * c + (c % 2 << 15));
      }
    }
    y = x;
    bf16_gelu_forward(GetParam(), part, y.data(), y.data());
    bf16_gelu_backward(GetParam(), part, x.data(), x.data(), dx.data());
    for (int64_t row = 0; row < kRows; ++row) {
      for (int64_t c = 0; c < kStride; ++c) {
        const int64_t i = row * kStride + c;
        const double input = value_of(x[i]);
        if (c >= columns) {
          ASSERT_EQ(y[i], kGuard) << row << ", " << c;
          ASSERT_EQ(dx[i], kGuard) << row << ", " << c;
        } else {
          const double product = input * gelu_derivative(GetParam(), input);
          ASSERT_NEAR(value_of(y[i]), gelu(GetParam(), input), 0.005 * std::abs(input));
          ASSERT_NEAR(value_of(dx[i]), product, 0.005 * std::abs(input));
        }
      }
    }
  }
}

}  // namespace
}  // namespace strata::device::cpu
