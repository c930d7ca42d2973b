#include "bert/float8_scales.h"

#include <gtest/gtest.h>

#include "device/registry/backends.h"

namespace strata::bert {
namespace {

// Uses host memory, which a test can read.
class Float8ScalesTest : public testing::Test {
 protected:
  // Runs a step with these amax values for the operands of GEMM 1.
  void step(uint64_t number, float x, float weight, float dy) {
    scales_.begin(number);
    const Float8Scales::Gemm gemm = scales_.gemm(1, true);
    *gemm.x.amax = x;
    *gemm.weight.amax = weight;
    *gemm.dy.amax = dy;
  }
  float scale_of_x() { return scales_.gemm(1, true).x.scale[0]; }

  std::unique_ptr<device::Backend> backend_ =
      device::make_backend({"reference", device::DType::kF64});
  Float8Scales scales_{*backend_, 3};
};

TEST_F(Float8ScalesTest, TheFirstStepOnlyMeasuresAmax) {
  scales_.begin(1);
  EXPECT_FALSE(scales_.rounds());
  const Float8Scales::Gemm gemm = scales_.gemm(1, true);
  EXPECT_EQ(gemm.x.scale, nullptr);
  EXPECT_NE(gemm.x.amax, nullptr);
  EXPECT_NE(gemm.dy.amax, nullptr);
}

TEST_F(Float8ScalesTest, LaterStepsScaleByTheMeasuredAmax) {
  step(1, 3.0f, 0.1f, 1e-6f);
  scales_.begin(2);
  EXPECT_TRUE(scales_.rounds());
  const Float8Scales::Gemm gemm = scales_.gemm(1, true);
  EXPECT_EQ(gemm.x.scale[0], 128);  // 448 / 3, rounded down to a power of two
  EXPECT_EQ(gemm.x.scale[1], 1.0 / 128);
  EXPECT_EQ(gemm.weight.scale[0], 4096);  // 448 / 0.1
  EXPECT_EQ(gemm.dy.scale[0], 0x1p35f);   // 57344 / 1e-6
  // Other GEMMs have their own scales.
  EXPECT_EQ(scales_.gemm(0, true).x.scale[0], 1);
  EXPECT_EQ(scales_.gemm(2, true).dy.scale[0], 1);
}

TEST_F(Float8ScalesTest, MicroBatchesOfAStepShareItsScales) {
  step(1, 3, 1, 1);
  step(2, 100, 1, 1);
  EXPECT_EQ(scale_of_x(), 128);
  scales_.begin(2);
  EXPECT_EQ(scale_of_x(), 128);
  scales_.begin(3);
  EXPECT_EQ(scale_of_x(), 4);
}

TEST_F(Float8ScalesTest, EvaluationMeasuresNoAmax) {
  step(1, 3, 1, 1);
  scales_.begin(2);
  const Float8Scales::Gemm gemm = scales_.gemm(1, false);
  EXPECT_EQ(gemm.x.amax, nullptr);
  EXPECT_EQ(gemm.weight.amax, nullptr);
  EXPECT_EQ(gemm.x.scale[0], 128);
}

TEST_F(Float8ScalesTest, NewWeightsResetTheScales) {
  step(1, 100, 1, 1);
  step(2, 100, 1, 1);
  scales_.reset();
  scales_.begin(1);
  EXPECT_FALSE(scales_.rounds());
  float& largest = *scales_.gemm(1, true).x.amax;
  largest = std::max(largest, 3.0f);
  scales_.begin(2);
  EXPECT_EQ(scale_of_x(), 128);
}

}  // namespace
}  // namespace strata::bert
