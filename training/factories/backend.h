// The device of a rank.
#pragma once

#include <memory>

#include "config/run_config.h"
#include "device/backend.h"
#include "device/graph_cache.h"
#include "training/ranks/ranks.h"

namespace strata::training {

// device.threads, or the rank's share of the machine's processors (base/threads/processors.h).
int thread_count(const config::RunConfig& config, const LocalRank& local = {});

// The dtype that the backend computes in for model.precision.
device::DType compute_dtype(const config::RunConfig& config);

// The machine's rank i gets its device i. Precision `auto` is bf16 if the device multiplies
// it natively, else fp32. If a rank computes on the host, binds the calling thread, and all threads
// that it starts, to the rank's NUMA nodes (RankProcessors::bound), unless these have too few
// processors for its threads. Throws Error if the device cannot be used.
std::unique_ptr<device::Backend> make_backend(const config::RunConfig& config,
                                              const LocalRank& local = {});

// Null if device.graphs is off.
std::unique_ptr<device::GraphCache> make_graph_cache(const config::RunConfig& config,
                                                     device::Backend& backend);

}  // namespace strata::training
