// A device that computes nothing, to measure schedules on fewer cores than ranks.
#pragma once

#include <memory>

#include "device/backend.h"

namespace strata::bench {

// Returns a device whose GEMMs, attention and losses on Stream::kCompute take as long as at so many
// FLOP/s: the host sleeps, so that ranks need no core each. Other operations take no time. Memory
// is the host's, in f32, and results have no meaning. `resident` takes memory from the machine when
// it is allocated, not page by page on first write.
std::unique_ptr<device::Backend> make_sleeping_device(double flops_per_second,
                                                      bool resident = false);

}  // namespace strata::bench
