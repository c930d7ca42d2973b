// Weights of which every rank keeps its local shards, gathered unit by unit ahead of their use.
#pragma once

#include <memory>
#include <vector>

#include "base/range.h"
#include "comm/communicator.h"
#include "comm/order/operation_times.h"
#include "device/backend.h"
#include "device/memory/arena.h"

namespace strata::comm {

// Does what operations of the lane kGathers say. Ranks gather the same units in the same order.
class WeightGatherer {
 public:
  virtual ~WeightGatherer() = default;

  // Gathers unit `unit`, counted as the runs of the units' arena are: in host memory now, on a
  // device on Stream::kReduce.
  virtual void gather(int unit) = 0;
};

// `shards` [n, at least this rank's local shard of every bucket] go to all ranks' `units` [n], of
// the same dtype; every bucket lies in one of them. `backend` and their memory outlive the result;
// `communicator` is duplicated, so all ranks construct together. `max_ctas`: see device::RankGroup.
std::unique_ptr<WeightGatherer> make_weight_gatherer(
    device::Backend& backend, Communicator& communicator, const device::Arena& shards,
    const device::Arena& units, const std::vector<Range>& buckets, int max_ctas = 0);

}  // namespace strata::comm
