// Accuracy of a trained model whose GEMMs add up in few bits (Sakr et al., arXiv 1901.06588).
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

// Evaluates the weights of model.checkpoint on the evaluation set of `config` once per accumulator:
// with exact sums of bf16 products, then with sums of 9, 7 and 5 mantissa bits, in a row and in
// chunks of 64. Only the encoder's and the heads' linear layers use the accumulator; attention and
// the vocabulary's logits are exact. `samples` limits the evaluation to the first so many, 0: all.
// `progress` may be empty. Throws Error if the device does not support the model.
std::vector<AccumulatedEvaluation> evaluate_accumulators(
    const config::RunConfig& config, int64_t samples,
    const std::function<void(int done, int of)>& progress);

}  // namespace strata::bench
