// What a trained model still predicts where its GEMMs add up in few bits (Sakr et al., arXiv
// 1901.06588).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/devices/rounding_device.h"
#include "bert/losses.h"
#include "config/run_config.h"

namespace strata::bench {

struct AccumulatedEvaluation {
  Accumulator accumulator;
  int64_t samples = 0;
  bert::Losses losses;
};

// The evaluation set of `config` with the weights of its model.checkpoint, once for each: with the
// exact sums of bf16 products, then with sums of 9, 7 and 5 mantissa bits, in a row and in chunks
// of 64. Of the encoder's and the heads' linear layers; attention and the vocabulary's logits are
// exact. `samples`: the first so many, 0: all. `progress` may be empty. Throws Error for what
// the device cannot compute.
std::vector<AccumulatedEvaluation> evaluate_accumulators(
    const config::RunConfig& config, int64_t samples,
    const std::function<void(int done, int of)>& progress);

}  // namespace strata::bench
