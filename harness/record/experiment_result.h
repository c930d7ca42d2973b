// How an experiment ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace strata::harness {

// Equal on all ranks, but `seconds` is right only on the first. Earlier results: OpenedResults.
struct ExperimentResult {
  int experiment = 0;
  bool reached_target = false;
  double accuracy = 0;  // masked-LM accuracy of the last evaluation
  double seconds = 0;   // time from run_start to run_stop
  int64_t samples = 0;  // trained samples
  int64_t steps = 0;
  uint64_t seed = 0;
  std::filesystem::path log;
};

// Returns the result in an experiment's log, or nullopt if its run was interrupted or killed.
// Throws Error if it is not a log of this program.
std::optional<ExperimentResult> read_experiment_result(const std::filesystem::path& log,
                                                       int experiment);

}  // namespace strata::harness
