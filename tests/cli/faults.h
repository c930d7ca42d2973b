// Runs a program with one failing call, by the library of scripts/campaigns/faults.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/process.h"
#include "tests/support/built_files.h"

namespace strata::cli {

struct Fault {
  std::string kind;  // memory, open, thread, ...
  int at = 1;        // number of the failing call of this kind
  int error = 0;
};

struct FaultyRun {
  ProcessResult result;
  bool failed = false;  // the program made that many calls
};

// Runs `command`. `report` is a file for the library.
inline FaultyRun run_with(const Fault& fault, const std::vector<std::string>& command,
                          const std::filesystem::path& report) {
  constexpr std::streamoff kFailed = 32 * sizeof(uint64_t);  // after the counts
  std::ofstream(report, std::ios::binary) << std::string(8192, '\0');
  ProcessOptions options;
  options.environment = {{"LD_PRELOAD", ::strata::testing_support::fault_library()},
                         {"STRATA_FAULT_REPORT", report.string()},
                         {"STRATA_FAULT_KIND", fault.kind},
                         {"STRATA_FAULT_AT", std::to_string(fault.at)},
                         {"STRATA_FAULT_AS", std::to_string(fault.error)}};
  FaultyRun run{cli::run(command, options, std::chrono::seconds(60))};
  std::ifstream file(report, std::ios::binary);
  file.seekg(kFailed);
  run.failed = file.get() == 1;
  return run;
}

}  // namespace strata::cli

// Skips a test if the build's programs cannot load the fault library.
#define STRATA_NEEDS_FAULTS()                             \
  if (::strata::testing_support::fault_library().empty()) \
  GTEST_SKIP() << "sanitizers want to be loaded first themselves"
