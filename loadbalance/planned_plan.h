// The strategy "planned": stratified, then assigned to ranks by cost, without a byte exchanged.
#pragma once

#include <vector>

#include "loadbalance/batch_plan.h"
#include "loadbalance/cost_balancer.h"
#include "loadbalance/rank_groups.h"
#include "loadbalance/stratified_plan.h"

namespace strata::loadbalance {

// Lengths are known to every rank before the run, so every rank derives the same assignment of the
// whole global batch and reads exactly its own samples.
class PlannedPlan final : public BatchPlan {
 public:
  PlannedPlan(const PlanOptions& options, std::span<const int32_t> lengths);
  std::span<const uint32_t> next_step() override;

 private:
  StratifiedPlan drawn_;
  std::vector<uint16_t> lengths_;
  CostBalancer balancer_;
  std::vector<RankGroup> groups_;
  size_t batch_per_rank_;
  std::vector<uint32_t> batch_;
};

}  // namespace strata::loadbalance
