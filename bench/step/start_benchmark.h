// How long it takes from run_start to the first batch on data of any size, through its index.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "config/run_config.h"

namespace strata::bench {

struct StartOptions {
  uint32_t samples = 156'725'653;  // of MLPerf's training set
  int ranks = 1024;
  std::filesystem::path folder;                            // of what is made up, and removed
  std::function<void(const std::string& phase)> progress;  // may be empty
};

// Of one rank; what the operating system had in memory of the files was dropped before. Seconds.
struct StartBenchmark {
  uint64_t index_bytes = 0;
  int64_t masked = 0;  // positions of the first global batch, by which losses are divided
  double make = 0;     // to write the index, which is done once for a data set
  double open = 0;     // to open the index
  double plan = 0;     // to plan the first step
  double find = 0;     // to find this rank's samples of it
  double read = 0;     // to read as many samples, of a smaller data set

  double start() const { return open + plan + find + read; }
};

// On a made-up index with MLPerf Wikipedia's lengths, in random order, and a small data set of the
// same. Of the configuration it uses batch. Throws Error where the folder cannot be written.
StartBenchmark benchmark_start(const config::RunConfig& config, const StartOptions& options);

}  // namespace strata::bench
