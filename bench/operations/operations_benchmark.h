// The speed of each backend operation on the model's shapes, compared with the device's peaks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/timing.h"
#include "config/run_config.h"
#include "training/ranks/ranks.h"

namespace strata::bench {

struct OperationsBenchmarkOptions {
  int rounds = 7;                  // measurements of each operation; their medians count
  int64_t micro_batch_tokens = 0;  // 0: batch.micro_batch sequences, whatever their tokens
  int32_t length = 0;              // length of every sequence; 0: MLPerf Wikipedia's mix
  std::string only;                // prefix of the measured operations' names
};

// One operation with one of the shapes that a step has.
struct OperationTime {
  std::string operation;  // name in device::Backend
  std::string where;      // place in the model
  int64_t per_step = 1;   // runs per step
  double seconds = 0;     // time of one run: the median of the rounds
  double flops = 0;       // FLOPs of the model's GEMMs
  double bytes = 0;       // bytes that it must read and write at least
  Quartiles rounds;       // quartiles of the time of one run
};

struct OperationsBenchmark {
  std::string device;
  std::vector<int32_t> lengths;  // lengths of the sequences
  int64_t tokens = 0;
  int64_t matrix_peak_size = 0;
  double matrix_peak_flops_per_second = 0;
  double copy_peak_bytes_per_second = 0;
  Quartiles matrix_peak_rounds, copy_peak_rounds;  // FLOP/s and bytes/s
  std::vector<OperationTime> operations;

  // Returns the least time that the peaks allow as a share of the time taken. For an operation that
  // only moves memory it is the share of the copy bandwidth.
  double share_of_peak(const OperationTime& o) const {
    return std::max(o.flops / matrix_peak_flops_per_second, o.bytes / copy_peak_bytes_per_second) /
           o.seconds;
  }
};

// Runs on one rank over random numbers. A round measures every operation and both peaks once, so
// that a burst of other work falls on all of them. Calls `describe` with the name of each operation
// of the first round before it runs, and then with the number of each round.
// Throws Error for several ranks, or if the model has too few positions for the length.
OperationsBenchmark benchmark_operations(const config::RunConfig& config,
                                         const OperationsBenchmarkOptions& options,
                                         const training::Ranks& ranks,
                                         const std::function<void(const std::string&)>& describe);

}  // namespace strata::bench
