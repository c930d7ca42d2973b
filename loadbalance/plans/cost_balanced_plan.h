// The strategy "planned": drawn for whole groups of ranks, assigned by cost, no byte exchanged.
#pragma once

#include <vector>

#include "loadbalance/cost_balancer.h"
#include "loadbalance/plans/batch_plan.h"
#include "loadbalance/plans/rank_groups.h"
#include "loadbalance/plans/stratified_plan.h"

namespace strata::loadbalance {

// Lengths are known to every rank before the run, so every rank derives the same assignment of the
// whole global batch and reads exactly its own samples. A group holds each length stratum's share;
// its ranks need not, so one stratified draw serves them all.
class CostBalancedPlan final : public BatchPlan {
 public:
  CostBalancedPlan(const PlanOptions& options, std::span<const int32_t> lengths);
  std::span<const uint32_t> next_step() override;

 private:
  StratifiedDraw draw_;
  CostBalancer balancer_;
  std::vector<RankGroup> groups_;
  size_t batch_per_rank_;
  std::vector<uint32_t> batch_;
};

}  // namespace strata::loadbalance
