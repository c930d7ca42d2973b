// The benchmark: initializes untimed, trains to the target accuracy, and logs as MLPerf asks.
#pragma once

#include <vector>

#include "config/run_config.h"
#include "harness/communicator.h"
#include "harness/record/experiment_result.h"
#include "harness/record/log_keeper.h"
#include "harness/record/result_tree.h"
#include "harness/system_under_test.h"

namespace strata::harness {

// Runs the config.run.experiments experiments of `system` that have no result yet, one after
// another, and writes the result tree. ExistingResults::kResume resumes interrupted experiments
// from their last checkpoint. Returns the results of all. For results that existed before, ranks
// other than the first know only each one's number and whether it reached the target. All call
// together. Throws Error for bad input; the log of a run that has begun then ends as aborted. A
// `keeper` on the first rank ends the log of a run whose process is killed.
std::vector<ExperimentResult> time_to_train(const config::RunConfig& config,
                                            SystemUnderTest& system, Communicator& ranks,
                                            ExistingResults existing = ExistingResults::kRefuse,
                                            LogKeeper* keeper = nullptr);

}  // namespace strata::harness
