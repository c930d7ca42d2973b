#include "harness/cost_benchmark.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"

namespace strata::harness {
namespace {

RunConfig tiny_run() {
  RunConfig config;
  config.model.config = "tiny";
  config.model.precision = Precision::kFp32;
  config.device.threads = 1;
  config.batch.micro_batch = 1;
  return config;
}

TEST(CostBenchmark, MeasuresEveryLengthWithTheSameTokensAndShortOnesWithHalf) {
  const auto communicator = comm::make_single_communicator();
  size_t done = 0, total = 0;
  const CostBenchmark result = benchmark_costs(tiny_run(),
                                               {.rounds = 2,
                                                .micro_batch_tokens = 512,
                                                .progress =
                                                    [&](size_t now, size_t all) {
                                                      EXPECT_EQ(now, ++done);
                                                      total = all;
                                                    }},
                                               Ranks{*communicator});
  EXPECT_EQ(result.ranks, 1);
  EXPECT_EQ(done, total);
  EXPECT_EQ(total, 3 * result.batches.size());
  std::set<std::pair<int32_t, int64_t>> batches;
  for (const EqualBatch& batch : result.batches) {
    batches.emplace(batch.length, batch.samples);
    EXPECT_GT(batch.seconds, 0);
    EXPECT_DOUBLE_EQ(result.relative_error(batch),
                     result.fit.seconds(batch.time()) / batch.seconds - 1);
  }
  EXPECT_EQ(batches,
            (std::set<std::pair<int32_t, int64_t>>{
                {64, 8}, {64, 4}, {128, 4}, {128, 2}, {256, 2}, {256, 1}, {384, 1}, {512, 1}}));
  EXPECT_GE(result.fit.cost.linear, 0);
  EXPECT_GE(result.fit.cost.quadratic, 0);
  EXPECT_GT(result.fit.cost.cost(512), 0);
}

TEST(CostBenchmark, SaysWhereTheLongestSampleDoesNotFit) {
  const auto communicator = comm::make_single_communicator();
  EXPECT_THROW(benchmark_costs(tiny_run(), {.micro_batch_tokens = 511}, Ranks{*communicator}),
               Error);
}

}  // namespace
}  // namespace strata::harness
