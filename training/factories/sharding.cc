#include "training/factories/sharding.h"

#include "comm/buckets/bucket_options.h"

namespace strata::training {

bool shards_state(const config::RunConfig& config, int ranks) {
  return config.optimizer.sharded != config::Sharding::kNone && ranks > 1;
}

bool shards_gradients(const config::RunConfig& config, int ranks) {
  return config.optimizer.sharded >= config::Sharding::kGradients && ranks > 1;
}

bool shards_weights(const config::RunConfig& config, int ranks) {
  return config.optimizer.sharded == config::Sharding::kAll && ranks > 1;
}

std::vector<Range> local_shards(const std::vector<Range>& buckets,
                                const comm::Communicator& replicas) {
  std::vector<Range> shards;
  for (const Range& bucket : buckets) shards.push_back(comm::local_shard(bucket, replicas));
  return shards;
}

}  // namespace strata::training
