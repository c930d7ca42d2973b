// Parameters sharded among ranks: what a step sends, and what memory it takes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/schedules/section.h"
#include "training/ranks/parameter_memory.h"

namespace strata::bench {

// Bytes are sums over all ranks.
struct ShardingMeasurement {
  std::string name;  // "all, layer"
  config::Sharding sharded = config::Sharding::kNone;
  config::AccumulationOrder order = config::AccumulationOrder::kMicroBatch;
  double step = 0;                                 // seconds, the median of the slowest rank
  double communication = 0;                        // seconds of reductions, likewise
  int64_t bytes_sent = 0, bytes_sent_formula = 0;  // in a step, in collectives
  training::ParameterMemory memory, memory_formula;
  // Resident memory after the last step, less that before the model was made. Formula: parameters
  // and activations.
  Compared resident;
};

struct ShardedOrders {
  std::vector<ShardingMeasurement> orders;
  std::vector<Skipped> skipped;
};

// One after another. All ranks call together.
ShardedOrders measure_sharding(const SectionSetup& setup);

}  // namespace strata::bench
