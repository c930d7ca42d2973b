// Recovers the final weights of a run that could not write them, because the disk was full or the
// process was killed.
#pragma once

#include "harness/benchmark.h"
#include "harness/record/experiment_result.h"

namespace strata::harness {

// Resumes from the experiment's last checkpoint, trains up to the samples of `result`, and writes
// the weights. Leaves log and trace unchanged. Without a usable checkpoint it only says so.
// All ranks call together. Throws Error if the data have changed or the file cannot be written.
void write_lost_weights(const Benchmark& b, const ExperimentResult& result);

}  // namespace strata::harness
