// Measures training steps on this machine, phase by phase, against its own matrix peak.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "device/graph_cache.h"
#include "training/ranks/parameter_memory.h"
#include "training/ranks/ranks.h"

namespace strata::bench {

struct StepBenchmarkOptions {
  int steps = 10;                  // measured steps, after some not measured
  int64_t micro_batch_tokens = 0;  // 0: batch.micro_batch sequences, whatever their tokens
  int32_t length = 0;              // length of every sequence; 0: MLPerf Wikipedia's mix
};

// Medians over the measured steps, in seconds, on one rank unless said otherwise.
struct StepBenchmark {
  int ranks = 1;
  std::string device;
  bool knows_phases = true;  // false: no forward, backward, wait, reduce and update
  std::vector<std::vector<int32_t>> lengths;  // lengths in this rank's measured micro-batches
  int64_t sequences = 0;                      // sequences per step, over all ranks
  int64_t tokens = 0;                         // tokens per step, over all ranks
  double flops = 0;                           // model FLOPs per step, over all ranks
  double start = 0;     // time from the process's start to the first measured step, slowest rank
  double step = 0;      // whole step, slowest rank
  double forward = 0;   // upload, forward, losses and their gradients
  double backward = 0;  // time until the last gradient is ready
  double waiting = 0;   // wait for other stages during forward and backward
  double wait = 0;      // time after backward until every bucket is reduced and updated
  double reduce = 0;    // all-reduces, most of it beside backward
  double update = 0;    // optimizer, partly beside backward
  training::ParameterMemory memory;     // bytes of this rank's parameters
  int64_t bytes_sent = 0;               // bytes this rank sends per step in collectives
  device::GraphCache::Captured graphs;  // this rank's graphs, with device.graphs
  double peak_flops_per_second = 0;     // all ranks' GEMMs at once, measured between the steps
  int64_t peak_size = 0;                // rows and columns of these GEMMs

  double tokens_per_second() const { return static_cast<double>(tokens) / step; }
  double sequences_per_second() const { return static_cast<double>(sequences) / step; }
  double flops_per_second() const { return flops / step; }
};

// Trains on synthetic batches with MLPerf Wikipedia's mix of lengths and random weights. Needs no
// data. All ranks call together.
StepBenchmark benchmark_steps(const config::RunConfig& config, const StepBenchmarkOptions& options,
                              const training::Ranks& ranks);

}  // namespace strata::bench
