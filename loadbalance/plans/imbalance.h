// Measures how evenly a plan distributes work, and the cost of planning.
#pragma once

#include <cstdint>
#include <span>

#include "loadbalance/plans/batch_plan.h"

namespace strata::loadbalance {

struct ImbalanceReport {
  double mean_imbalance = 0;  // max over ranks / mean over ranks of the cost, mean over steps
  double p99_imbalance = 0;   // 99th percentile (nearest rank) of the same
  // Bound without moving samples between groups: max over groups of their mean cost, over the mean
  // over all ranks; mean over steps.
  double mean_group_bound = 0;
  double bytes_per_step = 0;  // bytes that a rank receives if lengths are not known beforehand
  double planning_seconds_per_step = 0;  // time of one thread in next_step()
};

// Runs `steps` steps of the plan and charges each rank by options.cost. Bytes are those of the
// strategies' published forms, in which ranks draw their own samples and exchange whole ones at 4 +
// 1 bytes per token (ids, segments): an all-gather over all ranks for "exchange", over the group
// for "stratified+presort", nothing for the others.
ImbalanceReport measure_imbalance(const PlanOptions& options,
                                  std::span<const LengthCount> histogram, int steps);

}  // namespace strata::loadbalance
