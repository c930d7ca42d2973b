// A job that runs the whole benchmark with one process per rank.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "config/run_config.h"
#include "harness/record/result_tree.h"

namespace strata::simulation {

// The device of the ranks.
enum class Device : uint8_t {
  kHostMemory,        // threads reduce buckets
  kStreams,           // a late device, which reduces in host memory
  kCollectiveStreams  // collectives run on its streams, too
};

struct Job {
  config::RunConfig config;
  int ranks = 1;
  Device device = Device::kHostMemory;
  bool graphs = false;  // a late device captures and launches graphs
  uint64_t seed = 0;    // seed of pauses and of a late device's order
  int victim = 0;       // the rank that dies
  int64_t dies_at = 0;  // the moment of its death; 0: none dies
  harness::ExistingResults existing = harness::ExistingResults::kResume;
};

struct JobEnd {
  bool killed = false;    // the victim died
  bool finished = false;  // all ranks reached their end
  int64_t moments = 0;    // moments of rank 0, if it finished
  std::string messages;   // messages of all ranks
};

// Forks the ranks and waits for them, at most a minute. If one dies, kills the others. Throws Error
// if they hang.
JobEnd run(const Job& job, const std::filesystem::path& messages);

}  // namespace strata::simulation
