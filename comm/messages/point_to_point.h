// Messages between ranks in device memory, for any backend.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "device/backend.h"
#include "device/links/point_to_point.h"

namespace strata::comm {

// Returns messages on the backend's own collectives if it has them, else staged ones (below). They
// have up to `most_bytes` and go between neighbours in the ring of `communicator`'s ranks. All
// ranks call together. `communicator` and `backend` must outlive the result.
std::unique_ptr<device::PointToPoint> make_point_to_point(Communicator& communicator,
                                                          device::Backend& backend,
                                                          size_t most_bytes);

// Uses the device's streams Stream::kSend and Stream::kReceive: the host does not wait.
std::unique_ptr<device::PointToPoint> make_stream_point_to_point(Communicator& communicator,
                                                                 device::Backend& backend);

// Uses host memory. If Backend::memory_is_host(), messages need no copy; else they are copied to
// the host and back, and the host waits.
std::unique_ptr<device::PointToPoint> make_staged_point_to_point(Communicator& communicator,
                                                                 device::Backend& backend,
                                                                 size_t most_bytes);

}  // namespace strata::comm
