// When streams of a GPU get to points of their work.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <memory>

#include "device/backend.h"
#include "device/links/collectives.h"

namespace strata::device::cuda {

// Marks the streams with events; `stream_of` makes their GPU the calling thread's. Times are the
// GPU's, put on the host's clock by one point that the host waits for: together they may be some
// microseconds late. `waits` outlives the stopwatch and may be set later.
std::unique_ptr<Stopwatch> make_event_stopwatch(std::function<cudaStream_t(Stream)> stream_of,
                                                const std::shared_ptr<HostWaits>& waits);

}  // namespace strata::device::cuda
