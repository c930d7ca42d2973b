// What the machine says about itself.
#pragma once

#include <filesystem>
#include <string>

namespace strata::harness {

// One node. A text is empty where the machine does not tell.
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

// Reads /proc, /sys and /etc below `root`. Never fails: what is not there stays empty.
Machine inspect_machine(const std::filesystem::path& root = "/");

}  // namespace strata::harness
