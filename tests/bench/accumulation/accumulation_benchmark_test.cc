#include "bench/accumulation/accumulation_benchmark.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace strata::bench {
namespace {

const AccumulationBenchmark& drawn() {
  static const AccumulationBenchmark result = benchmark_accumulation({.trials = 300});
  return result;
}

// The closed form of the literature by hand: 0.74 / 256 sqrt(1024 / 6), and of two levels.
TEST(AccumulationBenchmark, HasTheClosedForms) {
  EXPECT_NEAR(sum_error(7, 1024, 0), 0.03776, 1e-5);
  EXPECT_NEAR(sum_error(7, 4096, 64) / sum_error(7, 4096, 0), std::sqrt(128.0 / 4096), 1e-12);
  EXPECT_NEAR(sum_error(9, 1024, 4) / sum_error(9, 1024, 0), std::sqrt(20.0 / 1024), 1e-12);
  EXPECT_EQ(sum_error(5, 100, 100), sum_error(5, 100, 0));
}

// Of 300 draws a root mean square is known within 4 %, one standard deviation. Rounded sums of 5
// and 6 bits swamp their terms, which the closed form knows nothing of.
TEST(AccumulationBenchmark, ErrorsAreThoseOfTheClosedForm) {
  int compared = 0;
  for (const SumError& line : drawn().sums) {
    if (line.mantissa_bits < 7) continue;
    EXPECT_NEAR(line.error / line.closed_form, 1, line.chunk == 4 ? 0.35 : 0.2)
        << line.mantissa_bits << " bits in chunks of " << line.chunk;
    ++compared;
  }
  EXPECT_EQ(compared, 20);
}

TEST(AccumulationBenchmark, ChunksOfFourLoseAFifthOfWhatARowLosesAt1024Ranks) {
  const AllReduceError& line = drawn().all_reduces.back();
  ASSERT_EQ(line.ranks, 1024);
  EXPECT_LE(line.chunked / line.row, 0.2);
  EXPECT_GT(line.chunked, line.once);
  EXPECT_LT(line.two_levels / line.row, 0.35);
  EXPECT_NEAR(line.bytes_per_element, 2 * 2.0 * 1023 / 1024, 1e-9);
  const AllReduceError& pair = drawn().all_reduces.front();
  EXPECT_EQ(pair.row, pair.once);  // one addition
}

TEST(AccumulationBenchmark, FewBitsLoseVarianceThatChunksKeep) {
  int swamped = 0;
  for (const VarianceRetention& line : drawn().retention) {
    if (line.mantissa_bits != 5 || line.terms != 16384) continue;
    EXPECT_EQ(line.retained() || line.uncertain(), line.chunk != 0) << line.ratio;
    EXPECT_GT(line.uncertainty, 0);
    swamped += line.chunk == 0;
  }
  EXPECT_EQ(swamped, 1);
}

TEST(AccumulationBenchmark, JudgesRetentionByItsOwnUncertainty) {
  const VarianceRetention kept{.terms = 100, .ratio = 0.99, .uncertainty = 0.001};
  EXPECT_TRUE(kept.retained());
  EXPECT_FALSE(kept.uncertain());
  const VarianceRetention lost{.terms = 100, .ratio = 0.95, .uncertainty = 0.001};
  EXPECT_FALSE(lost.retained());
  EXPECT_FALSE(lost.uncertain());
  const VarianceRetention open{.terms = 100, .ratio = 0.96, .uncertainty = 0.001};
  EXPECT_FALSE(open.retained());
  EXPECT_TRUE(open.uncertain());
}

TEST(AccumulationBenchmark, IsTheSameForTheSameSeed) {
  const auto error = [](uint64_t seed) {
    return benchmark_accumulation({.trials = 2, .seed = seed}).sums.front().error;
  };
  EXPECT_EQ(error(5), error(5));
  EXPECT_NE(error(5), error(6));
  EXPECT_THROW(benchmark_accumulation({.trials = 1}), Error);
}

}  // namespace
}  // namespace strata::bench
