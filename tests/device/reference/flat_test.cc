#include <gtest/gtest.h>

#include "base/error.h"
#include "device/reference/operations.h"
#include "tests/device/reference/finite_differences.h"

namespace strata::device::reference {
namespace {

TEST(Convert, ScalesAndRoundsToTheDestination) {
  Values source = {1.0, 1.0 + 0x1p-8, -3.0};
  std::vector<float> floats(3);
  std::vector<BFloat16> halves(3);
  convert({vector(source), 2.0f, Tensor{floats.data(), DType::kF32, 1, 3}});
  convert(
      {Tensor{floats.data(), DType::kF32, 1, 3}, 0.5f, Tensor{halves.data(), DType::kBF16, 1, 3}});
  EXPECT_EQ(floats, (std::vector<float>{2.0f, 2.0f + 0x1p-7f, -6.0f}));
  EXPECT_EQ(static_cast<float>(halves[0]), 1.0f);
  EXPECT_EQ(static_cast<float>(halves[1]), 1.0f);  // ties to even
  EXPECT_EQ(static_cast<float>(halves[2]), -3.0f);
}

TEST(Convert, WorksInPlace) {
  Values x = {1, 2, 3};
  convert({vector(x), 3.0f, vector(x)});
  EXPECT_EQ(x, (Values{3, 6, 9}));
}

TEST(Convert, RangesOfDifferentSizesAreAnError) {
  Values x(3), y(4);
  EXPECT_THROW(convert({vector(x), 1.0f, vector(y)}), Error);
}

TEST(L2NormSquared, AddsToThePreviousSum) {
  Values x = {3, -4};
  double norm_squared = 11;
  l2_norm_squared({vector(x), &norm_squared});
  EXPECT_EQ(norm_squared, 36);
}

TEST(ClipToNorm, ScalesDownToTheNormAndNeverUp) {
  Values x = {30, -40}, small = {0.3, 0.4}, zero = {0, 0};
  const double norm_squared = 2500, small_norm_squared = 0.25, none = 0;
  clip_to_norm({vector(x), &norm_squared, 2.0f});
  clip_to_norm({vector(small), &small_norm_squared, 2.0f});
  clip_to_norm({vector(zero), &none, 2.0f});
  EXPECT_NEAR(x[0], 1.2, 1e-15);
  EXPECT_NEAR(x[1], -1.6, 1e-15);
  EXPECT_EQ(small, (Values{0.3, 0.4}));
  EXPECT_EQ(zero, (Values{0, 0}));
}

}  // namespace
}  // namespace strata::device::reference
