#include "loadbalance/plans/cost_balanced_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/loadbalance/plan_checks.h"

namespace strata::loadbalance {
namespace {

double cost_of(std::span<const uint32_t> batch, const Lengths& lengths) {
  const CostModel model;
  double cost = 0;
  for (const uint32_t sample : batch) cost += model.cost(lengths[sample]);
  return cost;
}

// A rank's batch holds the same samples for any number of micro-batches.
TEST(CostBalancedPlan, MicroBatchesSplitTheBatchOfARank) {
  const Lengths lengths = random_lengths(4000, 5);
  PlanOptions options{.strategy = "planned", .ranks = 3, .batch_per_rank = 24, .seed = 2};
  CostBalancedPlan whole(options, histogram_of(lengths));
  options.micro_batches = 4;
  CostBalancedPlan cut(options, histogram_of(lengths));
  for (int step = 0; step < 50; ++step) {
    const auto a = whole.next_step(), b = cut.next_step();
    for (size_t rank = 0; rank < 3; ++rank) {
      std::vector<uint32_t> x(a.begin() + rank * 24, a.begin() + (rank + 1) * 24),
          y(b.begin() + rank * 24, b.begin() + (rank + 1) * 24);
      std::ranges::sort(x);
      std::ranges::sort(y);
      ASSERT_EQ(x, y) << "step " << step << " rank " << rank;
    }
  }
}

// The last micro-batch is the costliest, by a small margin.
TEST(CostBalancedPlan, MicroBatchesCostTheSameAndTheLastIsTheLargest) {
  const Lengths lengths = random_lengths(40000, 6);
  for (const int micro_batches : {2, 8}) {
    const PlanOptions options{.strategy = "planned",
                              .ranks = 4,
                              .batch_per_rank = 16 * micro_batches,
                              .micro_batches = micro_batches,
                              .seed = 2};
    CostBalancedPlan plan(options, histogram_of(lengths));
    for (int step = 0; step < 30; ++step) {
      const auto batch = plan.next_step();
      for (int rank = 0; rank < 4; ++rank) {
        std::vector<double> costs;
        for (int i = 0; i < micro_batches; ++i) {
          costs.push_back(cost_of(batch.subspan((rank * micro_batches + i) * 16u, 16), lengths));
        }
        const double mean = std::accumulate(costs.begin(), costs.end(), 0.0) / micro_batches;
        ASSERT_GE(costs.back(), *std::ranges::max_element(costs) * (1 - 1e-5));
        ASSERT_LE(costs.back(), 1.01 * mean);
        ASSERT_GE(costs.front(), 0.98 * mean);
      }
    }
  }
}

}  // namespace
}  // namespace strata::loadbalance
