// Whether a data set for evaluation has samples that are trained on.
#pragma once

#include <cstdint>

#include "data/files/instance_file.h"

namespace strata::data {

struct SharedSamples {
  uint64_t compared = 0;               // training samples that were looked at
  uint64_t shared = 0;                 // evaluation samples that are among them
  uint32_t train = 0, evaluation = 0;  // the first pair, by index; meaningless without one
};

// Compares the fingerprints (tokens, segments, masked positions and their tokens) of the first
// `evaluation_samples` samples of `evaluation` with those of `train`. Reads at most about
// `most_training_samples` of `train`, spread evenly, which is enough to notice a set that
// contains the other one. Throws Error for a malformed sample.
SharedSamples find_shared_samples(const InstanceSource& train, const InstanceSource& evaluation,
                                  int64_t evaluation_samples,
                                  uint32_t most_training_samples = 200'000);

}  // namespace strata::data
