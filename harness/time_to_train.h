// The benchmark: initialise untimed, then train until the target accuracy, logging as MLPerf asks.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "config/run_config.h"
#include "harness/record/experiment_result.h"
#include "harness/record/result_tree.h"
#include "harness/system_under_test.h"

namespace strata::harness {

// Runs config.run.experiments experiments of `system`, or those of them that have no result yet,
// one after the other and writes the result tree. Returns the results of all; of those that were
// there, ranks but the first know only whether they reached the target. All ranks call together.
// Throws Error for bad input; what was logged until then stays.
std::vector<ExperimentResult> time_to_train(const config::RunConfig& config,
                                            SystemUnderTest& system,
                                            ExistingResults existing = ExistingResults::kRefuse);

}  // namespace strata::harness
