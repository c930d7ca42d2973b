// MLPerf's evaluation interval for BERT.
#pragma once

#include <cstdint>

namespace strata::compliance {

// Returns the samples between evaluations, a multiple of 25,000:
// floor(0.05 * (230.23 * global_batch_size + 3,000,000) / 25,000) * 25,000
// (MLCommons training policies, BERT). Computed in integers, so that no rounding moves the floor.
int64_t mlperf_evaluation_interval(int64_t global_batch_size);

}  // namespace strata::compliance
