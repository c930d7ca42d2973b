// A device's speeds from a step that `strata bench step --json` measured.
#pragma once

#include <filesystem>

#include "bench/simulation/operation_costs.h"

namespace strata::bench {

// FLOP/s of forward and backward, bandwidth of the update (which has no bandwidth, 0, if its time
// is not known), and the rest of the step as its constant. Throws Error with the file and the key
// if it is not that command's output on one rank, or has no phases.
DeviceSpeed read_measured_speed(const std::filesystem::path& path);

}  // namespace strata::bench
