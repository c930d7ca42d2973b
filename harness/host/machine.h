// Describes the machine by what its operating system reports.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace strata::harness {

// One node. A text is empty if the system does not report it.
struct Machine {
  std::string processor_model;
  // "AuthenticAMD family 26 model 2" or "implementer 0x41 part 0xd4f", as names can change
  std::string processor_family;
  // Linux's names, of x86-64: avx2, avx512f, avx512_bf16, avx512_fp16, amx_int8, amx_bf16, amx_fp16;
  // of aarch64: asimdhp, asimdfhm, sve, sve2, bf16, i8mm. Others are left out.
  std::vector<std::string> instruction_sets;
  int sockets = 1;
  int cores = 1;       // physical cores of the node
  int processors = 1;  // logical processors of the node
  std::string frequency;
  std::string caches;
  std::string memory;
  std::string storage_type;
  std::string storage_capacity;
  std::string networking;
  std::string operating_system;
  std::string compiler;
};

// Reads /proc, /sys and /etc below `root`. Never throws: texts that are not there stay empty.
Machine inspect_machine(const std::filesystem::path& root = "/");

}  // namespace strata::harness
