// Measures every schedule over the same network: its steps, communication and memory, beside closed
// forms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bench/schedules/data_parallel.h"
#include "bench/schedules/modules.h"
#include "bench/schedules/pipelines.h"
#include "bench/schedules/section.h"
#include "bench/schedules/sharding.h"
#include "training/ranks/ranks.h"

namespace strata::bench {

struct ScheduleBenchmark {
  std::string device;
  int ranks = 1;
  int micro_batches = 1;
  int64_t micro_batch_tokens = 0;  // 0: `micro_batch_sequences` of any
  int micro_batch_sequences = 0;
  std::optional<comm::Link> link;
  // The sections that were asked for.
  std::optional<DataParallelOrders> data_parallel;
  std::optional<Pipelines> pipelines;
  std::optional<ShardedOrders> sharding;
  std::optional<Modules> modules;
};

// Runs on synthetic batches. All ranks call together. Throws Error for one rank, which has nobody
// to communicate with.
ScheduleBenchmark benchmark_schedules(const config::RunConfig& config,
                                      const ScheduleOptions& options, const training::Ranks& ranks);

}  // namespace strata::bench
