// Batch plans, which assign samples to ranks and steps.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "loadbalance/cost_model.h"
#include "loadbalance/length_histogram.h"

namespace strata::loadbalance {

// Inputs of a plan. Every rank builds the same plan from the same values, without communication.
struct PlanOptions {
  // "random": every rank draws from its own shard.
  // "exchange": a random global batch, sorted by length and dealt to all ranks.
  // "stratified": every local batch holds each length stratum's share.
  // "stratified+presort": stratified, then sorted and dealt in serpentine order inside groups.
  // "planned": every group of ranks (by default all) holds each stratum's share, assigned by cost.
  // A rank's samples are assigned to its micro-batches by cost, too; the costliest comes last.
  std::string strategy = "stratified";
  int ranks = 1;
  int batch_per_rank = 1;  // samples per rank and step, over all micro-batches
  // Number of equally large parts of a rank's batch, processed one after the other.
  int micro_batches = 1;
  uint64_t seed = 0;
  // Upper ends of the length strata, ascending; the last stratum includes the longest samples.
  std::vector<int> strata_bounds = {128, 256, 384, 512};
  // Number of neighbouring ranks that pool their samples; 0: 8 for presort (a node), all for
  // planned.
  int group_ranks = 0;
  CostModel cost = {};  // only for "planned"
};

// A run is an endless sequence of steps; an epoch is `samples` consecutive draws. Every sample is
// drawn exactly once per epoch. A global batch may straddle two epochs, so no sample is dropped and
// no batch is short. After any step, draw counts of samples differ by at most one.
class BatchPlan {
 public:
  virtual ~BatchPlan() = default;

  // Returns the global batch of the next step: ranks x batch_per_rank sample numbers, rank by rank.
  // Valid until the next call.
  virtual std::span<const uint32_t> next_step() = 0;
};

// Number of samples in a step, over all ranks.
inline size_t global_batch_of(const PlanOptions& options) {
  return static_cast<size_t>(options.ranks) * static_cast<size_t>(options.batch_per_rank);
}

// Number of neighbouring ranks that pool their samples under these options.
int effective_group_ranks(const PlanOptions& options);

// Names of all strategies, simplest first.
std::vector<std::string> strategies();

// `histogram` has the data set's samples by ascending length; the plan does not keep it. The plan
// numbers samples by length, the shortest from 0 (SamplesByLength). Throws Error if the arguments
// cannot make a plan (fewer samples than a global batch, unknown strategy, a length above the last
// bound).
std::unique_ptr<BatchPlan> make_batch_plan(const PlanOptions& options,
                                           std::span<const LengthCount> histogram);

}  // namespace strata::loadbalance
