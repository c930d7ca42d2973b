// Messages from rank to rank in device memory, for any backend.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "device/backend.h"
#include "device/links/point_to_point.h"

namespace strata::comm {

// The fastest there is for `backend`: its own collectives' messages, else through the host. For
// messages of up to `most_bytes` between ranks that follow each other in `communicator`, the first
// after the last. All ranks of `communicator` call together; it and `backend` outlive the result.
std::unique_ptr<device::PointToPoint> make_point_to_point(Communicator& communicator,
                                                          device::Backend& backend,
                                                          size_t most_bytes);

// On streams of the device's own, Stream::kSend and Stream::kReceive: the host does not wait.
std::unique_ptr<device::PointToPoint> make_stream_point_to_point(Communicator& communicator,
                                                                 device::Backend& backend);

// Through host memory, which is the device's own where Backend::memory_is_host(); else messages are
// copied there and back, and the host waits.
std::unique_ptr<device::PointToPoint> make_staged_point_to_point(Communicator& communicator,
                                                                 device::Backend& backend,
                                                                 size_t most_bytes);

}  // namespace strata::comm
