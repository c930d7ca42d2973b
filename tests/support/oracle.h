// Runs the official MLPerf checkers, where the machine has them.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace strata::testing_support {

// What a command printed, standard error included, and how it ended.
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

// The Python interpreter that has mlperf-logging; null where the environment names none.
inline const char* oracle_python() { return std::getenv("STRATA_ORACLE_PYTHON"); }

// What the official compliance checker says of a log under the rules of a round, which for it are
// "5.0.0". Its own log lies beside that.
inline CommandResult official_check(const std::filesystem::path& log,
                                    const std::string& ruleset = "5.0.0") {
  return run_command(std::string(oracle_python()) +
                     " -m mlperf_logging.compliance_checker --werror --usage training --ruleset " +
                     ruleset + " --log_output " + log.string() + ".check " + log.string());
}

constexpr char kNoOracle[] =
    "STRATA_ORACLE_PYTHON names no Python with mlperf-logging, the official checker";

}  // namespace strata::testing_support
