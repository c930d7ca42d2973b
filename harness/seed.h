// The seed of an experiment's random numbers.
#pragma once

#include <cstdint>
#include <optional>

namespace strata::harness {

// Returns `configured` + `experiment` if a seed is configured, else 32 bits of the system's
// randomness, as MLPerf asks. Ranks may get different seeds, so broadcast rank 0's.
uint64_t experiment_seed(std::optional<uint64_t> configured, int experiment);

}  // namespace strata::harness
