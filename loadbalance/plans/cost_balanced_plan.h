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
// its ranks need not, so one stratified draw serves them all. Inside a rank's batch the same
// assignment goes to micro-batches, the costliest last: all-reduce hides behind its backward.
class CostBalancedPlan final : public BatchPlan {
 public:
  CostBalancedPlan(const PlanOptions& options, std::span<const LengthCount> histogram);
  std::span<const uint32_t> next_step() override;

 private:
  void cut_into_micro_batches(std::span<uint32_t> rank_batch);

  StratifiedDraw draw_;
  CostBalancer balancer_;
  std::vector<RankGroup> groups_;
  size_t batch_per_rank_;
  int micro_batches_;
  std::vector<Sample> rank_samples_;    // scratch: of a rank
  std::vector<uint32_t> bins_, order_;  // scratch: its micro-batches, and their order by cost
  std::vector<uint32_t> batch_;
};

}  // namespace strata::loadbalance
