// A device that computes nothing, for measuring orders of work on fewer cores than ranks.
#pragma once

#include <memory>

#include "device/backend.h"

namespace strata::bench {

// Its GEMMs, attention and losses on Stream::kCompute take as long as on a device of so many
// FLOP/s: the host sleeps, so that ranks need no core each. All else takes no time; memory is the
// host's, f32. What a model computes on it has no meaning. `resident`: its memory is taken from the
// machine when it is allocated, not page by page where something is written.
std::unique_ptr<device::Backend> make_sleeping_device(double flops_per_second,
                                                      bool resident = false);

}  // namespace strata::bench
