// Messages from rank to rank in device memory, for any backend.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "device/backend.h"
#include "device/point_to_point.h"

namespace strata::comm {

// The fastest there is for `backend`: its own, else through the host. For messages of up to
// `most_bytes`. All ranks of `communicator` call together; it and `backend` outlive the result.
std::unique_ptr<device::PointToPoint> make_point_to_point(Communicator& communicator,
                                                          device::Backend& backend,
                                                          size_t most_bytes);

// Through host memory, which is the device's own where Backend::memory_is_host(); else messages are
// copied there and back, and the host waits.
std::unique_ptr<device::PointToPoint> make_staged_point_to_point(Communicator& communicator,
                                                                 device::Backend& backend,
                                                                 size_t most_bytes);

}  // namespace strata::comm
