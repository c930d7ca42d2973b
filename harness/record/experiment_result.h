// How an experiment ended, as it is reported and as its log tells afterwards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace strata::harness {

// The same on every rank but for the times, which are the first rank's.
struct ExperimentResult {
  int experiment = 0;
  bool reached_target = false;
  double accuracy = 0;  // masked-LM, last evaluation
  double seconds = 0;   // run_start to run_stop
  int64_t samples = 0;  // trained on
  int64_t steps = 0;
  uint64_t seed = 0;
  std::filesystem::path log;
};

// What an experiment's log says; nothing where its run was interrupted or killed. Throws Error
// where it is no log of this program.
std::optional<ExperimentResult> read_experiment_result(const std::filesystem::path& log,
                                                       int experiment);

}  // namespace strata::harness
