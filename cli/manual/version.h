// What `strata --version` says.
#pragma once

#include <filesystem>
#include <string>

namespace strata::cli {

// The version, then a line each: commit and build type, the compiler, the instruction sets of this
// machine that kernels can be written for, and the libraries with their versions.
std::string version_text();

// Those of the flags in `cpuinfo` (/proc/cpuinfo) that make a difference to kernels, in order of
// their names here; empty where the machine does not tell.
std::string instruction_sets(const std::filesystem::path& cpuinfo = "/proc/cpuinfo");

}  // namespace strata::cli
