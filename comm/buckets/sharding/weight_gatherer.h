// Gathers weights ahead of their use, group by group, from the ranks that own their shards.
#pragma once

#include <memory>
#include <vector>

#include "base/range.h"
#include "comm/communicator.h"
#include "comm/order/operation_times.h"
#include "device/backend.h"
#include "device/memory/arena.h"

namespace strata::comm {

// Executes operations of the lane kGathers. All ranks gather the same groups in the same order.
class WeightGatherer {
 public:
  virtual ~WeightGatherer() = default;

  // Gathers a group, numbered as the runs of the groups' arena: synchronously in host memory, on
  // Stream::kReduce on a device.
  virtual void gather(int group) = 0;
};

// Gathers from `shards` [n, at least this rank's local shard of every bucket] to all ranks'
// `groups` [n] of the same dtype. Every bucket lies in one gather group. `backend` and the memory
// must outlive the result. `communicator` is duplicated, so all ranks construct together.
// `max_ctas`: see device::RankGroup.
std::unique_ptr<WeightGatherer> make_weight_gatherer(
    device::Backend& backend, Communicator& communicator, const device::Arena& shards,
    const device::Arena& groups, const std::vector<Range>& buckets, int max_ctas = 0);

}  // namespace strata::comm
