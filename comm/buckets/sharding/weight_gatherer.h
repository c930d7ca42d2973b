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

// Executes operations of the kind kGather. All ranks gather the same groups in the same order.
class WeightGatherer {
 public:
  virtual ~WeightGatherer() = default;

  // Gathers the weights of a group. Groups are numbered like the runs of `groups` below.
  // Synchronous in host memory; issued on Stream::kReduce on a device.
  virtual void gather(int group) = 0;
};

// Gathers from every rank's `shards` to all ranks' `groups`, both [n] of the same dtype. `shards`
// holds at least this rank's local shard of every bucket. Every bucket lies in one gather group.
// `backend` and the memory must outlive the result. `communicator` is duplicated, so all ranks
// construct together. `max_ctas`: see device::RankGroup.
std::unique_ptr<WeightGatherer> make_weight_gatherer(
    device::Backend& backend, Communicator& communicator, const device::Arena& shards,
    const device::Arena& groups, const std::vector<Range>& buckets, int max_ctas = 0);

}  // namespace strata::comm
