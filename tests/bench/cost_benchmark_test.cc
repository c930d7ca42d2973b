#include "bench/step/cost_benchmark.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "tests/training/tiny_run.h"

namespace strata::bench {
namespace {

TEST(CostBenchmark, MeasuresEveryLengthWithTheSameTokensAndShortOnesWithHalf) {
  const auto communicator = comm::make_single_communicator();
  size_t done = 0, total = 0;
  const CostBenchmark result = benchmark_costs(training::tiny_run(1),
                                               {.rounds = 5,
                                                .micro_batch_tokens = 2048,
                                                .progress =
                                                    [&](size_t now, size_t all) {
                                                      EXPECT_EQ(now, ++done);
                                                      total = all;
                                                    }},
                                               training::Ranks{*communicator});
  EXPECT_EQ(result.ranks, 1);
  EXPECT_EQ(done, total);
  EXPECT_EQ(total, 6 * result.batches.size());
  std::set<std::pair<int32_t, int64_t>> batches;
  for (const EqualBatch& batch : result.batches) {
    batches.emplace(batch.length, batch.samples);
    EXPECT_GT(batch.seconds, 0);
    EXPECT_DOUBLE_EQ(result.relative_error(batch),
                     result.fit.seconds(batch.time()) / batch.seconds - 1);
  }
  const std::set<std::pair<int32_t, int64_t>> expected = {{64, 32}, {64, 16}, {128, 16}, {128, 8},
                                                          {256, 8}, {256, 4}, {384, 5},  {384, 2},
                                                          {512, 4}, {512, 2}};
  EXPECT_EQ(batches, expected);
  EXPECT_GE(result.fit.cost.linear, 0);
  EXPECT_GE(result.fit.cost.quadratic, 0);
  EXPECT_GT(result.fit.cost.cost(512), 0);
}

TEST(CostBenchmark, RefusesMicroBatchesTooSmallForTheLongestSample) {
  const auto communicator = comm::make_single_communicator();
  EXPECT_THROW(benchmark_costs(training::tiny_run(1), {.micro_batch_tokens = 511},
                               training::Ranks{*communicator}),
               Error);
}

}  // namespace
}  // namespace strata::bench
