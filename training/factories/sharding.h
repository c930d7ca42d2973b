// The parts of training that ranks share out among themselves (optimizer.sharded).
#pragma once

#include <vector>

#include "base/range.h"
#include "comm/communicator.h"
#include "config/run_config.h"

namespace strata::training {

// Whether each of `ranks` ranks keeps only its shard of the optimizer's state, of the gradients,
// or of the weights. A single rank keeps everything.
bool shards_state(const config::RunConfig& config, int ranks);
bool shards_gradients(const config::RunConfig& config, int ranks);
bool shards_weights(const config::RunConfig& config, int ranks);

// [buckets] This rank's shard of each bucket, as elements of the arena.
std::vector<Range> local_shards(const std::vector<Range>& buckets,
                                const comm::Communicator& replicas);

}  // namespace strata::training
