// When streams of a GPU get to points of their work.
#pragma once

#include <memory>

#include "device/backend.h"

namespace strata::device::cuda {

// Marks `backend`'s streams, which are CUDA's, with events. Their times are the GPU's, put on the
// host's clock by one point that the host waits for: together they may be some microseconds late.
std::unique_ptr<Stopwatch> make_event_stopwatch(Backend& backend);

}  // namespace strata::device::cuda
