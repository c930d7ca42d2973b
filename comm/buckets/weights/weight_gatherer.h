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

// Like GradientBuckets: in host memory a thread of its own gathers, on a communicator of its own;
// in device memory the caller issues everything on Stream::kReduce. Ranks gather the same units in
// the same order.
class WeightGatherer {
 public:
  virtual ~WeightGatherer() = default;

  // Begins to gather unit `unit`, counted as the runs of the units' arena are, after whatever the
  // compute stream has been given so far: that is the last to read what lies in the unit's memory.
  virtual void gather(int unit) = 0;
  // What the compute stream is given next sees the unit's weights, which gather() was called for;
  // in host memory the caller waits. Rethrows what gathering threw.
  virtual void wait(int unit) = 0;

  // From now on gathers are timed, or not.
  virtual void time_steps(bool on) = 0;
  // Those since the last call; their object is the unit. In device memory waits for them.
  virtual std::vector<OperationTime> take_times() = 0;
};

// `shards` [n, at least this rank's local shard of every bucket] go to all ranks' `units` [n], of
// the same dtype; every bucket lies in one of them. `backend` and their memory outlive the result;
// `communicator` is duplicated, so all ranks construct together. `max_ctas`: see device::RankGroup.
std::unique_ptr<WeightGatherer> make_weight_gatherer(
    device::Backend& backend, Communicator& communicator, const device::Arena& shards,
    const device::Arena& units, const std::vector<Range>& buckets, int max_ctas = 0);

}  // namespace strata::comm
