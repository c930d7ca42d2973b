// The text of `strata --version`.
#pragma once

#include <filesystem>
#include <string>

namespace strata::cli {

// Returns the version, then a line each for commit and build type, the compiler, this machine's
// instruction sets for kernels, and the libraries with their versions.
std::string version_text();

// Returns the flags in `cpuinfo` (/proc/cpuinfo) that matter to kernels, sorted by name; empty if
// the machine does not report them.
std::string instruction_sets(const std::filesystem::path& cpuinfo = "/proc/cpuinfo");

}  // namespace strata::cli
