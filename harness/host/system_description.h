// The MLPerf description of the system a run ran on, filled from the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/run_config.h"
#include "harness/host/machine.h"

namespace strata::harness {

// A device with memory of its own.
struct AcceleratorFacts {
  std::string name;
  int64_t memory_bytes = 0;
};

// What the run knows and the machine does not.
struct SystemFacts {
  int nodes = 1;
  int ranks = 1;
  std::string device;                           // and what computes on it, for people
  std::optional<AcceleratorFacts> accelerator;  // of every rank
  std::vector<std::pair<std::string, std::string>> libraries;  // name and version
};

// run.system, or a name made of nodes, processor or accelerators, and ranks, fit for a file.
std::string system_name(const config::RunConfig& config, const Machine& machine,
                        const SystemFacts& facts);

// systems/<system_name>.json with every field that the official checker asks for.
std::string system_description_json(const config::RunConfig& config, const Machine& machine,
                                    const SystemFacts& facts);

// Whether two descriptions are of the same system: all but the processor's frequency, which some
// machines give as it is at this moment. A text that is no description is of no system.
bool describe_same_system(const std::string& a, const std::string& b);

// Whether two descriptions are of the same machines with different ranks, all else being equal.
bool describe_other_ranks(const std::string& a, const std::string& b);
// The fields that describe_same_system finds to differ.
std::vector<std::string> differing_fields(const std::string& a, const std::string& b);

// Whether two names made by system_name are of the same hardware on different ranks or nodes.
bool differ_in_ranks_only(const std::string& a, const std::string& b);

}  // namespace strata::harness
