// Compares the configuration of existing results with this run's. Paths of files that moved with
// the results do not count.
#pragma once

#include <string>
#include <vector>

#include "config/run_config.h"

namespace strata::harness {

// How the configurations of results that lie together are compared.
struct ConfigurationComparison {
  bool other_ranks = false;  // the run resumes with another number of ranks
  // The run goes on from a checkpoint, which names its model and its data by their contents.
  bool by_checkpoint = false;
};

// The keys that differ, a line each as config::differences writes it. Numbers of experiments, where
// the results lie, and checkpoints may differ. So may the path of a file or a folder whose contents
// are the same, or that was moved together with the results.
std::vector<std::string> configuration_differences(config::RunConfig theirs, config::RunConfig ours,
                                                   const ConfigurationComparison& comparison);

}  // namespace strata::harness
