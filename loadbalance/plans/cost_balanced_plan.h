// The strategy "planned": draws for whole groups of ranks and assigns by cost, without
// communication.
#pragma once

#include <vector>

#include "loadbalance/cost_balancer.h"
#include "loadbalance/plans/batch_plan.h"
#include "loadbalance/plans/rank_groups.h"
#include "loadbalance/plans/stratified_plan.h"

namespace strata::loadbalance {

// Every rank knows all lengths before the run, so every rank derives the same assignment of the
// whole global batch and reads only its own samples. Each group, but not each of its ranks, holds
// each length stratum's share, so one stratified draw serves the group. A rank's samples are
// assigned to micro-batches in the same way. The costliest comes last, because the all-reduce
// overlaps with its backward.
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
  std::vector<Sample> rank_samples_;    // scratch: samples of a rank
  std::vector<uint32_t> bins_, order_;  // scratch: micro-batches, and their order by cost
  std::vector<uint32_t> batch_;
};

}  // namespace strata::loadbalance
