// The weights of a run that ended and could not write them: a full disk, or a kill before the file.
#pragma once

#include "harness/benchmark.h"
#include "harness/record/experiment_result.h"

namespace strata::harness {

// Goes on from the experiment's last checkpoint until the samples of `result` are trained on, and
// writes the weights. Log and trace stay as they are. Without a usable checkpoint it only says so.
// All ranks call together. Throws Error if the data have changed or the file cannot be written.
void write_lost_weights(const Benchmark& b, const ExperimentResult& result);

}  // namespace strata::harness
