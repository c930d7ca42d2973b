// One experiment of a benchmark: initialization, the timed run, and the files after it.
#pragma once

#include "harness/benchmark.h"
#include "harness/record/experiment_result.h"

namespace strata::harness {

// Runs the experiment, or resumes it if it was interrupted. All ranks call together. Throws Error
// as time_to_train() does.
ExperimentResult run_experiment(const Benchmark& b, int experiment);

}  // namespace strata::harness
