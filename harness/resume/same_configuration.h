// Compares the configuration of existing results with this run's. Files that moved together with
// the results count as the same.
#pragma once

#include <string>
#include <vector>

#include "config/run_config.h"

namespace strata::harness {

// How two configurations are compared.
struct ConfigurationComparison {
  bool other_ranks = false;  // the run resumes on other ranks or threads
  // The run resumes from a checkpoint, which identifies model and data, so old paths may be gone.
  bool by_checkpoint = false;
};

// Returns the keys that differ, one line each as config::differences writes it. Ignores run.output,
// run.experiments, run.stall_seconds and checkpoint.*; with `other_ranks` also threads and the
// division of work; and paths of files or folders with the same contents or moved with the results.
std::vector<std::string> configuration_differences(config::RunConfig theirs, config::RunConfig ours,
                                                   const ConfigurationComparison& comparison);

}  // namespace strata::harness
