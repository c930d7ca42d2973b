// The result tree of a benchmark, with the results of earlier runs that it continues.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "harness/communicator.h"
#include "harness/record/experiment_result.h"
#include "harness/record/output_lock.h"
#include "harness/record/result_tree.h"
#include "harness/system_under_test.h"

namespace strata::harness {

// The same on every rank, except as noted.
struct OpenedResults {
  ResultTree tree;
  // Experiments that have ended, in order. Other ranks than the first know only their numbers and
  // whether they reached the target.
  std::vector<ExperimentResult> ended = {};
  std::vector<int> interrupted = {};      // experiments to resume from a checkpoint
  std::vector<int> lacking_weights = {};  // experiments whose weights a checkpoint can give
  bool on_other_ranks = false;            // the experiments began on other ranks or threads
  std::optional<OutputLock> lock = {};    // held by the first rank
};

// Makes the result tree `tree`, or uses that of runs on another number of ranks if this run resumes
// them. Locks it, finds what earlier runs left there, and archives what cannot be continued.
// `system_description` is the JSON text of this run's system, for the first rank. `say` receives
// lines for people. All ranks call together. Throws Error if the results are of another system or
// configuration, or files cannot be written.
OpenedResults open_results(const config::RunConfig& config, ResultTree tree,
                           ExistingResults existing, const std::string& system_description,
                           Communicator& ranks, const Say& say);

// Whether the experiment has checkpoints, whole or not.
bool can_be_resumed(const ResultTree& tree, int experiment);

// Archives the files of an interrupted experiment, and says so.
void archive_interrupted(const ResultTree& tree, int experiment, const Say& say);

}  // namespace strata::harness
