// Messages by MPI.
#pragma once

#include <mpi.h>

#include <memory>

#include "comm/communicator.h"
#include "comm/stall_watch.h"
#include "comm/traffic.h"

namespace strata::comm {

// Between the ranks of `communicator`, which it takes over and nothing else uses. What is sent is
// added to `traffic`.
std::unique_ptr<Messages> make_mpi_messages(MPI_Comm communicator,
                                            std::shared_ptr<StallWatch> stall,
                                            std::shared_ptr<Traffic> traffic);

}  // namespace strata::comm
