// Measures the time from run_start to the first batch on data of any size, through its index.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "config/run_config.h"

namespace strata::bench {

struct StartOptions {
  uint32_t samples = 156'725'653;  // size of MLPerf's training set
  int ranks = 1024;
  std::filesystem::path folder;  // for temporary files; empty: TMPDIR, or else /tmp
  std::function<void(const std::string& phase)> progress;  // may be empty
};

// One rank's seconds. The files were dropped from the page cache before.
struct StartBenchmark {
  uint64_t index_bytes = 0;
  int64_t masked = 0;  // masked positions of the first global batch, by which losses are divided
  double make = 0;     // writing the index, which is done once per data set
  double open = 0;     // opening the index
  double plan = 0;     // planning the first step
  double find = 0;     // finding this rank's samples of the first step
  double read = 0;     // reading as many samples of a smaller data set

  double start() const { return open + plan + find + read; }
};

// Uses a synthetic index with MLPerf Wikipedia's lengths in random order, and a small data set with
// the same lengths. Uses only batch of the configuration. Throws Error if the folder cannot be
// written.
StartBenchmark benchmark_start(const config::RunConfig& config, const StartOptions& options);

}  // namespace strata::bench
