// How fast each of the backend's operations is on the model's shapes, against what the device
// reaches at best.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "training/ranks/ranks.h"

namespace strata::bench {

struct OperationsBenchmarkOptions {
  int rounds = 7;                  // of every operation; medians count
  int64_t micro_batch_tokens = 0;  // 0: batch.micro_batch sequences, whatever their tokens
  int32_t length = 0;              // of every sequence; 0: MLPerf Wikipedia's mix
  std::string only;                // operations whose names begin like this
};

// One operation on one of the shapes that a step has.
struct OperationTime {
  std::string operation;  // of device::Backend
  std::string where;      // in the model
  int64_t per_step = 1;   // times a step runs it
  double seconds = 0;     // once
  double flops = 0;       // of the model's GEMMs
  double bytes = 0;       // that it must read and write at least
};

struct OperationsBenchmark {
  std::string device;
  std::vector<int32_t> lengths;  // of the sequences
  int64_t tokens = 0;
  int64_t matrix_peak_size = 0;
  double matrix_peak_flops_per_second = 0;
  double copy_peak_bytes_per_second = 0;
  std::vector<OperationTime> operations;

  // The least time that the peaks allow, as a share of the time taken: of an operation that only
  // moves memory, its share of the copy bandwidth.
  double share_of_peak(const OperationTime& o) const {
    return std::max(o.flops / matrix_peak_flops_per_second, o.bytes / copy_peak_bytes_per_second) /
           o.seconds;
  }
};

// On one rank, over random numbers. `describe` is told the name of what comes next. Throws Error for
// several ranks and for a length that the model has no positions for.
OperationsBenchmark benchmark_operations(const config::RunConfig& config,
                                         const OperationsBenchmarkOptions& options,
                                         const training::Ranks& ranks,
                                         const std::function<void(const std::string&)>& describe);

}  // namespace strata::bench
