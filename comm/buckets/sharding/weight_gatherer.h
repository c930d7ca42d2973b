// Gathers weights ahead of their use, unit by unit, from the ranks that own their shards.
#pragma once

#include <memory>
#include <vector>

#include "base/range.h"
#include "comm/communicator.h"
#include "comm/order/operation_times.h"
#include "device/backend.h"
#include "device/memory/arena.h"

namespace strata::comm {

// Executes operations of the lane kGathers. All ranks gather the same units in the same order.
class WeightGatherer {
 public:
  virtual ~WeightGatherer() = default;

  // Gathers a unit, numbered as the runs of the units' arena: synchronously in host memory, on
  // Stream::kReduce on a device.
  virtual void gather(int unit) = 0;
};

// Gathers from `shards` [n, at least this rank's local shard of every bucket] to all ranks' `units`
// [n] of the same dtype. Every bucket lies in one unit. `backend` and the memory must outlive the
// result. `communicator` is duplicated, so all ranks construct together. `max_ctas`: see
// device::RankGroup.
std::unique_ptr<WeightGatherer> make_weight_gatherer(
    device::Backend& backend, Communicator& communicator, const device::Arena& shards,
    const device::Arena& units, const std::vector<Range>& buckets, int max_ctas = 0);

}  // namespace strata::comm
