// What the machine says about itself.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace strata::harness {

// One node. A text is empty where the machine does not tell.
struct Machine {
  std::string processor_model;
  std::string processor_family;  // "AuthenticAMD family 26 model 2": what hides behind other names
  // Of avx2, avx512f, avx512_bf16, avx512_fp16, amx_int8, amx_bf16, amx_fp16, as Linux calls them.
  std::vector<std::string> instruction_sets;
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
