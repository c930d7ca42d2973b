// The strategy "stratified+presort": stratified, then sorted and dealt within each node.
#pragma once

#include <vector>

#include "loadbalance/plans/batch_plan.h"
#include "loadbalance/plans/rank_groups.h"
#include "loadbalance/plans/stratified_plan.h"
#include "loadbalance/sample_sort.h"

namespace strata::loadbalance {

// The published method: the samples of a group of 8 ranks, longest first, in serpentine order.
class PresortedPlan final : public BatchPlan {
 public:
  PresortedPlan(const PlanOptions& options, std::span<const LengthCount> histogram);
  std::span<const uint32_t> next_step() override;

 private:
  StratifiedDraw draw_;
  SampleSort sort_;
  std::vector<RankGroup> groups_;
  size_t batch_per_rank_;
  std::vector<uint32_t> batch_;
};

}  // namespace strata::loadbalance
