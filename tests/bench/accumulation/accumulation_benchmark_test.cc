#include "bench/accumulation/accumulation_benchmark.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/error.h"

namespace strata::bench {
namespace {

const AccumulationBenchmark& drawn() {
  static const AccumulationBenchmark result = benchmark_accumulation({.trials = 300});
  return result;
}

// The closed form for one level, 0.74 / 256 sqrt(1024 / 6), and for two.
TEST(AccumulationBenchmark, SumErrorHasTheClosedForm) {
  EXPECT_NEAR(sum_error(7, 1024, 0), 0.03776, 1e-5);
  EXPECT_NEAR(sum_error(7, 4096, 64) / sum_error(7, 4096, 0), std::sqrt(128.0 / 4096), 1e-12);
  EXPECT_NEAR(sum_error(9, 1024, 4) / sum_error(9, 1024, 0), std::sqrt(20.0 / 1024), 1e-12);
  EXPECT_EQ(sum_error(5, 100, 100), sum_error(5, 100, 0));
}

// Returns the variance that rounding adds, except for a factor. Every addition rounds by a share of
// the partial sum, whose variance is its number of terms. The first addition, to 0, is exact.
double brute_force_variance(int64_t terms, int64_t chunk) {
  std::vector<int64_t> sums(static_cast<size_t>(terms), 1);  // terms in each partial sum
  double variance = 0;
  while (sums.size() > 1) {
    const size_t together = chunk == 0 ? sums.size() : static_cast<size_t>(chunk);
    std::vector<int64_t> next;
    for (size_t begin = 0; begin < sums.size(); begin += together) {
      int64_t sum = sums[begin];
      for (size_t i = begin + 1; i < std::min(begin + together, sums.size()); ++i) {
        sum += sums[i];
        variance += static_cast<double>(sum);
      }
      next.push_back(sum);
    }
    sums.swap(next);
  }
  return variance;
}

// Includes terms that are no power of the chunk: 4096 terms in chunks of 256 leave 16 sums, a level
// that is not full. There, c log_c(n) instead of the sum over levels is 19 % off.
TEST(AccumulationBenchmark, ClosedFormsAgreeWithEveryAddition) {
  struct Case {
    int64_t terms, chunk;
    double bound;
  };
  const Case cases[] = {{4096, 256, 0.01},  {4096, 64, 0.01},   {4096, 16, 0.035},
                        {4096, 1024, 0.01}, {16384, 128, 0.01}, {16384, 512, 0.01},
                        {10000, 100, 0.01}, {1000, 300, 0.06},  {1000, 64, 0.02},
                        {1024, 4, 0.07},    {100, 64, 0.1},     {50000, 32, 0.03}};
  for (const auto& [terms, chunk, bound] : cases) {
    const double expected =
        std::sqrt(brute_force_variance(terms, chunk) / brute_force_variance(terms, 0));
    EXPECT_NEAR(sum_error(7, terms, chunk) / sum_error(7, terms, 0) / expected, 1, bound)
        << terms << " terms in chunks of " << chunk;
  }
  const double whole_levels = std::sqrt(256 * std::log(4096) / std::log(256) / 4096);
  EXPECT_GT(whole_levels / (sum_error(7, 4096, 256) / sum_error(7, 4096, 0)), 1.18);
}

// A root mean square of 300 draws is known within 4 %, one standard deviation. Sums of 5 and 6 bits
// are left out, because they swamp their terms, which the closed form ignores.
TEST(AccumulationBenchmark, MeasuredErrorsAgreeWithTheClosedForm) {
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
