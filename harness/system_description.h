// The MLPerf description of the system a run ran on, filled from the machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/run_config.h"

namespace strata::harness {

// What the machine says about itself; every field is a text as it stands in the description, "N/A"
// where the machine does not tell.
struct Machine {
  std::string processor_model;
  int sockets = 1;
  int cores = 1;       // physical, of the node
  int processors = 1;  // logical, of the node
  std::string frequency;
  std::string caches;
  std::string memory;
  std::string storage_type;
  std::string storage_capacity;
  std::string networking;
  std::string operating_system;
  std::string compiler;
};

// `root` stands before /proc, /sys and /etc; tests give machines of their own.
Machine inspect_machine(const std::filesystem::path& root = "/");

// What the run knows and the machine does not.
struct SystemFacts {
  int nodes = 1;
  int ranks = 1;
  std::string device;                                          // Backend::description()
  std::vector<std::pair<std::string, std::string>> libraries;  // name and version
};

// run.system, or a name made of the processor, nodes and ranks, fit for a file.
std::string system_name(const RunConfig& config, const Machine& machine, const SystemFacts& facts);

// systems/<system_name>.json with every field that the official checker asks for.
std::string system_description_json(const RunConfig& config, const Machine& machine,
                                    const SystemFacts& facts);

}  // namespace strata::harness
