// A job of several ranks, each a process, that runs the benchmark from its first file to its last.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "config/run_config.h"
#include "harness/record/result_tree.h"

namespace strata::simulation {

// What ranks compute on.
enum class Device : uint8_t {
  kHostMemory,  // buckets are reduced by threads
  kStreams,     // of a device that runs late, in any order that events allow; through the host
  kCollectiveStreams  // with collectives as work of its streams
};

struct Job {
  config::RunConfig config;
  int ranks = 1;
  Device device = Device::kHostMemory;
  bool graphs = false;  // that a late device captures and launches
  uint64_t seed = 0;    // of pauses and of the order of a late device
  int victim = 0;       // the rank that dies
  int64_t dies_at = 0;  // its moment; 0: none dies
  harness::ExistingResults existing = harness::ExistingResults::kResume;
};

struct JobEnd {
  bool killed = false;    // the victim died
  bool finished = false;  // all ranks came to their end
  int64_t moments = 0;    // of rank 0, where it did
  std::string messages;   // of all ranks
};

// Forks the ranks and waits for them, at most a minute; when one dies kills the others. Throws
// Error where they hang.
JobEnd run(const Job& job, const std::filesystem::path& messages);

}  // namespace strata::simulation
