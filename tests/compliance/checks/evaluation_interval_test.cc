#include "compliance/checks/evaluation_interval.h"

#include <gtest/gtest.h>

namespace strata::compliance {
namespace {

// Computed by hand: 0.05 * (230.23 * 448 + 3000000) = 155157.15, six whole 25000s; and so on.
TEST(EvaluationInterval, AgreesWithTheFormulaComputedByHand) {
  EXPECT_EQ(mlperf_evaluation_interval(1), 150'000);
  EXPECT_EQ(mlperf_evaluation_interval(448), 150'000);    // 155157.15
  EXPECT_EQ(mlperf_evaluation_interval(2048), 150'000);   // 173575.55
  EXPECT_EQ(mlperf_evaluation_interval(3072), 175'000);   // 185363.33
  EXPECT_EQ(mlperf_evaluation_interval(8192), 225'000);   // 244302.21
  EXPECT_EQ(mlperf_evaluation_interval(16384), 325'000);  // 338604.42
  EXPECT_EQ(mlperf_evaluation_interval(65536), 900'000);  // 904417.66
}

// 25000 / (0.05 * 230.23) = 2171.74 sequences make one more 25000.
TEST(EvaluationInterval, RisesExactlyWhereTheFormulaDoes) {
  EXPECT_EQ(mlperf_evaluation_interval(2171), 150'000);
  EXPECT_EQ(mlperf_evaluation_interval(2172), 175'000);
}

}  // namespace
}  // namespace strata::compliance
