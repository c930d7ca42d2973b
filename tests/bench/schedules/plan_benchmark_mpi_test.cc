#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "bench/schedules/plan_benchmark.h"
#include "tests/bench/benchmark_over_ranks.h"

namespace strata::bench {
namespace {

class PlanBenchmarkOverRanks : public BenchmarkOverRanks {
 protected:
  PlanBenchmarkOptions options_{.steps = 1,
                                .micro_batch_tokens = 300,
                                .sleeping_flops = 2e10,
                                .micro_batches = {2},
                                .speeds = {1e10}};
};

TEST_F(PlanBenchmarkOverRanks, MeasuresEveryScheduleWithEveryClipModeThatItAllows) {
  if (ranks_.size() == 1) {
    EXPECT_THROW(benchmark_plan(config_, options_, ranks_), Error);
    return;
  }
  options_.ranks = {1, 2};
  const PlanBenchmark result = benchmark_plan(config_, options_, ranks_);
  EXPECT_EQ(result.calibrated.size(), 2u);
  EXPECT_GT(result.message_seconds, 0);
  std::set<std::string> schedules, of_one;
  std::set<config::ClipMode> modes;
  for (const PlannedStep& step : result.steps) {
    (step.ranks == 1 ? of_one : schedules).insert(step.name);
    if (step.ranks == 1) {
      EXPECT_EQ(step.predicted.exposed, 0);
    } else if (step.name == "micro_batch") {
      modes.insert(step.clip);
    }
    EXPECT_EQ(step.measured > 0, ranks_.rank() < step.ranks) << step.name;
    EXPECT_GT(step.predicted.total(), 0);
    EXPECT_EQ(step.simulated > 0, ranks_.first()) << step.name;
  }
  EXPECT_EQ(modes.size(), 4u);
  for (const char* name : {"micro_batch", "layer", "layer, recompute",
                           "micro_batch, tied-embedding split", "micro_batch, sharded all"}) {
    EXPECT_TRUE(schedules.contains(name) && of_one.contains(name)) << name;
  }
  EXPECT_TRUE(schedules.contains("modular, 2 stages"));
  EXPECT_FALSE(of_one.contains("modular, 2 stages"));
  EXPECT_FALSE(result.skipped.empty());
}

TEST_F(PlanBenchmarkOverRanks, AStepTakesAtLeastTheTimeToSendItsGradients) {
  if (ranks_.size() == 1) return;  // a single rank sends nothing
  options_.ranks = {2};
  options_.micro_batches = {1};
  options_.speeds = {5e7};
  const PlanBenchmark result = benchmark_plan(config_, options_, ranks_);
  const double sent = result.shape.parameters * result.shape.gradient_bytes / 5e7;
  for (const PlannedStep& step : result.steps) {
    if (!ranks_.first() || step.name != "micro_batch") continue;
    EXPECT_GE(step.measured, 0.99 * sent);
    EXPECT_GE(step.predicted.total(), sent);
  }
}

}  // namespace
}  // namespace strata::bench
