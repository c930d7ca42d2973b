// MLPerf's evaluation interval for BERT, and the batch sizes that have one.
#pragma once

#include <cstdint>
#include <optional>

namespace strata::compliance {

// Returns the samples between evaluations, a multiple of 25,000:
// floor(0.05 * (230.23 * global_batch_size + 3,000,000) / 25,000) * 25,000
// (MLCommons training policies, BERT). Computed in integers, so that no rounding moves the floor.
int64_t mlperf_evaluation_interval(int64_t global_batch_size);

// Returns whether a logged number can be a global batch size: 1 to 1e12.
inline bool is_batch_size(const std::optional<double>& number) {
  return number && *number >= 1 && *number <= 1e12;
}

}  // namespace strata::compliance
