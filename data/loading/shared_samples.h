// Detects training samples in an evaluation data set.
#pragma once

#include <cstdint>

#include "data/files/instance_file.h"

namespace strata::data {

struct SharedSamples {
  uint64_t compared = 0;               // training samples that were compared
  uint64_t shared = 0;                 // evaluation samples that occur among them
  uint32_t train = 0, evaluation = 0;  // first pair, by index; only valid if shared > 0
};

// Compares the fingerprints (tokens, segments, masked positions and their tokens) of the first
// `evaluation_samples` samples of `evaluation` with those of `train`. Reads at most about
// `most_training_samples` of `train`, spread evenly, which is enough to notice a set that contains
// the other one. Throws Error for a malformed sample.
SharedSamples find_shared_samples(const InstanceSource& train, const InstanceSource& evaluation,
                                  int64_t evaluation_samples,
                                  uint32_t most_training_samples = 200'000);

}  // namespace strata::data
