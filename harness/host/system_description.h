// The MLPerf system description, filled from the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/run_config.h"
#include "harness/host/machine.h"

namespace strata::harness {

// A device with its own memory.
struct AcceleratorFacts {
  std::string name;
  int64_t memory_bytes = 0;
};

// Facts for the description that only the run knows.
struct SystemFacts {
  int nodes = 1;
  int ranks = 1;
  std::string device;                                          // device and its library
  std::optional<AcceleratorFacts> accelerator;                 // accelerator of every rank
  std::vector<std::pair<std::string, std::string>> libraries;  // names and versions
};

// Returns run.system, or a file name made of nodes, processor or accelerators, and ranks.
std::string system_name(const config::RunConfig& config, const Machine& machine,
                        const SystemFacts& facts);

// Returns systems/<system_name>.json with every field that the official checker asks for.
std::string system_description_json(const config::RunConfig& config, const Machine& machine,
                                    const SystemFacts& facts);

// Returns whether all fields of two descriptions are equal. Ignores the processor's frequency,
// because some machines report the current one. Returns false for text that is no description.
bool describe_same_system(const std::string& a, const std::string& b);

// Returns whether two descriptions differ, but only in notes and in facts about ranks and nodes.
bool describe_other_ranks(const std::string& a, const std::string& b);
// Returns the fields that describe_same_system finds to differ, none if a text is not an object.
std::vector<std::string> differing_fields(const std::string& a, const std::string& b);

// Returns whether two names made by system_name differ only in ranks or nodes of the same hardware.
bool differ_in_ranks_only(const std::string& a, const std::string& b);

}  // namespace strata::harness
