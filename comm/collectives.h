// Collectives over device memory for any backend.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "device/backend.h"
#include "device/links/collectives.h"

namespace strata::comm {

// The fastest there are for `backend`: its own where there are several ranks, else through the
// host. All ranks of `communicator` call together; it and `backend` outlive the result. Throws
// Error where the backend's own cannot be made. `max_ctas`: see device::RankGroup.
std::unique_ptr<device::Collectives> make_collectives(Communicator& communicator,
                                                      device::Backend& backend,
                                                      device::Stream stream, int max_ctas = 0);

// For any backend: copies to the host, where `communicator` does the work, and back; the host
// waits.
std::unique_ptr<device::Collectives> make_staged_collectives(Communicator& communicator,
                                                             device::Backend& backend,
                                                             device::Stream stream);

// In memory that the host may use: `communicator` works on it directly, on the caller's thread,
// whatever a stream does. It outlives the result.
std::unique_ptr<device::Collectives> make_host_collectives(Communicator& communicator);

}  // namespace strata::comm
