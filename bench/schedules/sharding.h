// Measures sharded parameters: the bytes that a step sends, and the memory it takes.
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
  double step = 0;                                 // seconds, the slowest rank's median
  double communication = 0;                        // seconds of reductions, likewise
  int64_t bytes_sent = 0, bytes_sent_formula = 0;  // bytes of a step's collectives
  training::ParameterMemory memory, memory_formula;
  // Resident memory after the last step, minus that before the model was made. Formula: parameters
  // and activations.
  Compared resident;
};

struct ShardedOrders {
  std::vector<ShardingMeasurement> orders;
  std::vector<Skipped> skipped;
};

// Measures the orders in turn. All ranks call together.
ShardedOrders measure_sharding(const SectionSetup& setup);

}  // namespace strata::bench
