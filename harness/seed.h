// Where a run's randomness comes from.
#pragma once

#include <cstdint>
#include <optional>

namespace strata::harness {

// The seed of experiment `experiment`: `configured` + experiment where given, else 32 bits of the
// system's randomness, as MLPerf asks. Not the same on every rank: broadcast rank 0's.
uint64_t experiment_seed(std::optional<uint64_t> configured, int experiment);

}  // namespace strata::harness
