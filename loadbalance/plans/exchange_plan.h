// The strategy "exchange": all ranks pool a random global batch and deal it out by length.
#pragma once

#include <vector>

#include "loadbalance/plans/batch_plan.h"
#include "loadbalance/plans/random_plan.h"
#include "loadbalance/sample_sort.h"

namespace strata::loadbalance {

// Sorts and deals in serpentine order, because round-robin order would give the first rank the
// longest sample of every round. If ranks do not know each other's samples, this needs an
// all-gather in every step. Here every rank derives it.
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
