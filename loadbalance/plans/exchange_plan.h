// The strategy "exchange": all ranks pool a random global batch and deal it out by length.
#pragma once

#include <vector>

#include "loadbalance/plans/batch_plan.h"
#include "loadbalance/plans/random_plan.h"
#include "loadbalance/sample_sort.h"

namespace strata::loadbalance {

// Sorted and dealt in serpentine order: dealt round-robin, the first rank would get the longest
// sample of every round. Where ranks do not know each other's samples, this needs an all-gather
// every step; here every rank derives it.
class ExchangePlan final : public BatchPlan {
 public:
  ExchangePlan(const PlanOptions& options, std::span<const LengthCount> histogram);
  std::span<const uint32_t> next_step() override;

 private:
  RandomDraw draw_;
  SampleSort sort_;
  int ranks_;
  std::vector<uint32_t> batch_;
};

}  // namespace strata::loadbalance
