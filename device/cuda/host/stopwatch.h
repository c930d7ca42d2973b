// Measures when streams of a GPU reach points of their work.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <memory>

#include "device/backend.h"
#include "device/links/collectives.h"

namespace strata::device::cuda {

// Marks streams with events; `stream_of` must make their GPU the calling thread's. Times are the
// GPU's, mapped to the host's clock by one mark that the host waits for, so all may be some
// microseconds late. `waits` must outlive the stopwatch and may be set later.
std::unique_ptr<Stopwatch> make_event_stopwatch(std::function<cudaStream_t(Stream)> stream_of,
                                                const std::shared_ptr<HostWaits>& waits);

}  // namespace strata::device::cuda
