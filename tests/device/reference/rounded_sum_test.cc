#include "device/reference/sums/rounded_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/error.h"
#include "device/operations/dtype.h"
#include "tests/support/compilers_float16.h"

namespace strata::device::reference {
namespace {

constexpr FloatFormat kHalf{5, 10}, kSingle{8, 23}, kBFloat16{8, 7};

std::vector<double> terms(int count, double scale, auto to_format) {
  std::mt19937 engine(7);
  std::normal_distribution<double> normal(0, scale);
  std::vector<double> values(count);
  for (double& value : values) value = static_cast<double>(to_format(normal(engine)));
  return values;
}

// Compares numbers of every size from 2^lowest to 2^highest with the compiler's own type.
template <typename Float>
void expect_rounded_as_the_compiler_does(const FloatFormat& format, int lowest, int highest) {
  std::mt19937_64 engine(1);
  std::uniform_real_distribution<double> exponent(lowest, highest), mantissa(-2, 2);
  for (int i = 0; i < 100'000; ++i) {
    const double value = mantissa(engine) * std::exp2(exponent(engine));
    ASSERT_EQ(rounded(value, format), static_cast<double>(static_cast<Float>(value))) << value;
  }
}

// Covers the compiler's 16-bit type from its largest to its smallest number, and beyond.
TEST(RoundedSum, RoundsToHalfPrecisionAsTheCompilerDoes) {
  expect_rounded_as_the_compiler_does<CompilersFloat16>(kHalf, -28, 17);
  for (int bits = 0; bits < 0x7c00; ++bits) {  // halfway between neighbours, and next to it
    const double low =
        static_cast<double>(std::bit_cast<CompilersFloat16>(static_cast<uint16_t>(bits)));
    const double step =
        std::max(std::exp2(std::floor(std::log2(std::max(low, 1e-9))) - 10), std::exp2(-24));
    for (const double value : {low + step / 2, low + step / 2 * (1 + 1e-9), low + step / 2.001}) {
      ASSERT_EQ(rounded(value, kHalf), static_cast<double>(static_cast<CompilersFloat16>(value)))
          << value;
    }
  }
}

TEST(RoundedSum, RoundsToSinglePrecisionAsTheCompilerDoes) {
  expect_rounded_as_the_compiler_does<float>(kSingle, -152, 129);
}

TEST(RoundedSum, KeepsZerosInfinitiesAndNaN) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(rounded(kInfinity, kBFloat16), kInfinity);
  EXPECT_EQ(rounded(-kInfinity, kBFloat16), -kInfinity);
  EXPECT_TRUE(std::isnan(rounded(std::nan(""), kBFloat16)));
  EXPECT_TRUE(std::signbit(rounded(-0.0, kBFloat16)));
}

TEST(RoundedSum, HasTheBitsOfFloatAdditionsInSinglePrecision) {
  const std::vector<double> values = terms(4096, 3, [](double x) { return static_cast<float>(x); });
  float sum = 0;
  for (const double value : values) sum += static_cast<float>(value);
  EXPECT_EQ(rounded_sum(values, {kSingle, 0}), static_cast<double>(sum));
}

TEST(RoundedSum, HasTheBitsOfBFloat16AdditionsInBFloat16) {
  const std::vector<double> values =
      terms(512, 1, [](double x) { return float{BFloat16(static_cast<float>(x))}; });
  BFloat16 sum = 0.0f;
  for (const double value : values) sum = BFloat16(float{sum} + static_cast<float>(value));
  EXPECT_EQ(rounded_sum(values, {kBFloat16, 0}), static_cast<double>(float{sum}));
}

// 256 + 1 rounds back to 256 in bf16; chunks of ones do not.
TEST(RoundedSum, AddsChunksThenTheirSums) {
  std::vector<double> values(65, 1);
  values[0] = 256;
  EXPECT_EQ(rounded_sum(values, {kBFloat16, 0}), 256);
  EXPECT_EQ(rounded_sum(values, {kBFloat16, 65}), 256);
  EXPECT_EQ(rounded_sum(values, {kBFloat16, 64}), 256);
  // First level: 256, fifteen fours, 1. Second: 268, three sixteens, 1. Third: 316, 1.
  EXPECT_EQ(rounded_sum(values, {kBFloat16, 4}), 316);
  // 16 at a time there is one level: 256, 16, 16, 16, 1.
  EXPECT_EQ(rounded_sum(values, {kBFloat16, 16}), 304);
}

TEST(RoundedSum, AnEmptySumIsZero) { EXPECT_EQ(rounded_sum({}, {kBFloat16, 4}), 0); }

TEST(RoundedSum, RefusesFormatsAndChunksThatCannotBe) {
  EXPECT_THROW(rounded_sum({}, {{8, 25}, 0}), Error);
  EXPECT_THROW(rounded_sum({}, {{11, 7}, 0}), Error);
  EXPECT_THROW(rounded_sum({}, {kBFloat16, 1}), Error);
  EXPECT_THROW(rounded_sum({}, {kBFloat16, -1}), Error);
}

TEST(RoundedMatmul, AddsProductsUpInItsFormat) {
  std::vector<float> x(2 * 300, 1.0f), weight(3 * 300, 1.0f);
  for (int k = 0; k < 300; ++k) weight[300 + k] = 0.5f;
  for (int k = 0; k < 300; ++k) weight[600 + k] = k % 2 == 0 ? 1.0f : -1.0f;
  for (int k = 0; k < 300; ++k) x[300 + k] = 2.0f;
  std::vector<float> y(6);
  RoundedMatmul matmul{.x = {x.data(), DType::kF32, 2, 300},
                       .weight = {weight.data(), DType::kF32, 3, 300},
                       .sum = {kBFloat16, 0},
                       .y = {y.data(), DType::kF32, 2, 3}};
  rounded_matmul(matmul);
  EXPECT_EQ(y, (std::vector<float>{256, 128, 0, 512, 256, 0}));  // a row stops growing at 256 terms
  matmul.sum.chunk = 20;
  rounded_matmul(matmul);
  EXPECT_EQ(y, (std::vector<float>{300, 150, 0, 600, 300, 0}));
}

TEST(RoundedMatmul, RefusesShapesThatDoNotFit) {
  std::vector<float> data(12);
  EXPECT_THROW(rounded_matmul({.x = {data.data(), DType::kF32, 2, 3},
                               .weight = {data.data(), DType::kF32, 2, 4},
                               .y = {data.data(), DType::kF32, 2, 2}}),
               Error);
}

}  // namespace
}  // namespace strata::device::reference
