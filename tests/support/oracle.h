// Runs the official MLPerf checkers, if they are installed.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace strata::testing_support {

// A command's output, including standard error, and its exit status.
struct CommandResult {
  std::string output;
  int status = -1;
};

inline CommandResult run_command(const std::string& command) {
  CommandResult result;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return result;
  std::array<char, 4096> bytes;
  while (const size_t read = std::fread(bytes.data(), 1, bytes.size(), pipe)) {
    result.output.append(bytes.data(), read);
  }
  result.status = ::pclose(pipe);
  return result;
}

// The Python interpreter that has mlperf-logging; null if the environment does not name one.
inline const char* oracle_python() { return std::getenv("STRATA_ORACLE_PYTHON"); }

// Returns the official compliance checker's result for a log under the rules of a round, in the
// checker's format "5.0.0". The checker's own log is written next to the log.
inline CommandResult official_check(const std::filesystem::path& log,
                                    const std::string& ruleset = "5.0.0") {
  return run_command(std::string(oracle_python()) +
                     " -m mlperf_logging.compliance_checker --werror --usage training --ruleset " +
                     ruleset + " --log_output " + log.string() + ".check " + log.string());
}

constexpr char kNoOracle[] =
    "STRATA_ORACLE_PYTHON names no Python with mlperf-logging, the official checker";

}  // namespace strata::testing_support
