// Which sample goes to which rank at which step.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "loadbalance/cost_model.h"
#include "loadbalance/length_histogram.h"

namespace strata::loadbalance {

// What a plan is made from. Every rank builds the same plan from the same values, without
// communication.
struct PlanOptions {
  // "random": every rank draws from its own shard.
  // "exchange": a random global batch, sorted by length and dealt to all ranks.
  // "stratified": every local batch holds each length stratum's share.
  // "stratified+presort": then sorted and dealt in serpentine order inside groups of ranks.
  // "planned": every group of ranks, by default all, holds each stratum's share, assigned by cost;
  // so are a rank's samples to its micro-batches, and the costliest comes last.
  std::string strategy = "stratified";
  int ranks = 1;
  int batch_per_rank = 1;  // samples a rank takes in a step, over all its micro-batches
  // That a rank's batch is cut into, one after the other; of equally many samples.
  int micro_batches = 1;
  uint64_t seed = 0;
  std::vector<int> strata_bounds = {128, 256, 384,
                                    512};  // upper ends, rising; the last holds the longest
  // Neighbouring ranks that share their samples; 0: 8 for presort (a node), all for planned.
  int group_ranks = 0;
  CostModel cost = {};  // of planned
};

// A run is an endless sequence of steps; an epoch is `samples` consecutive draws. Every sample is
// drawn exactly once an epoch, and a global batch may straddle two epochs, so none is dropped or
// short: after any step, no sample has been drawn more than once more often than another.
class BatchPlan {
 public:
  virtual ~BatchPlan() = default;

  // The global batch of the next step: ranks x batch_per_rank sample numbers, rank by rank.
  // Valid until the next call.
  virtual std::span<const uint32_t> next_step() = 0;
};

// Samples in a step, over all ranks.
inline size_t global_batch_of(const PlanOptions& options) {
  return static_cast<size_t>(options.ranks) * static_cast<size_t>(options.batch_per_rank);
}

// How many neighbouring ranks share their samples under these options.
int effective_group_ranks(const PlanOptions& options);

// The names of all strategies, simplest first.
std::vector<std::string> strategies();

// `histogram`: the data set's samples of every length, lengths rising. The plan numbers samples by
// length, the shortest from 0 (SamplesByLength); it does not keep the histogram. Throws Error where
// the two cannot make a plan (fewer samples than a global batch, unknown strategy, a length above
// the last bound).
std::unique_ptr<BatchPlan> make_batch_plan(const PlanOptions& options,
                                           std::span<const LengthCount> histogram);

}  // namespace strata::loadbalance
