// Collectives over device memory for any backend.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "device/backend.h"
#include "device/links/collectives.h"

namespace strata::comm {

// Returns the backend's own collectives if it has them and there are several ranks, else staged
// ones (below). All ranks of `communicator` call together. It and `backend` must outlive the
// result. Throws Error if the backend's own cannot be made. `max_ctas`: see device::RankGroup.
std::unique_ptr<device::Collectives> make_collectives(Communicator& communicator,
                                                      device::Backend& backend,
                                                      device::Stream stream, int max_ctas = 0);

// Returns collectives for any backend, which copy to the host and back and use `communicator`
// there. The host waits.
std::unique_ptr<device::Collectives> make_staged_collectives(Communicator& communicator,
                                                             device::Backend& backend,
                                                             device::Stream stream);

// Returns collectives for host memory. They call `communicator` on the caller's thread and ignore
// streams. `communicator` must outlive the result.
std::unique_ptr<device::Collectives> make_host_collectives(Communicator& communicator);

}  // namespace strata::comm
