// The benchmark: initialise untimed, then train until the target accuracy, logging as MLPerf asks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/result_tree.h"
#include "harness/run_config.h"
#include "harness/setup.h"

namespace strata::harness {

// How one experiment ended. The same on every rank but for the times, which are the first rank's.
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

// Runs config.run.experiments experiments, or those of them that have no result yet, one after the
// other and writes the result tree. All ranks call together. Throws Error for bad input; what was
// logged until then stays.
std::vector<ExperimentResult> time_to_train(const RunConfig& config, const Ranks& ranks,
                                            ExistingResults existing = ExistingResults::kRefuse);

}  // namespace strata::harness
