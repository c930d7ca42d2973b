// Messages over MPI.
#pragma once

#include <mpi.h>

#include <memory>

#include "comm/communicator.h"
#include "comm/stall_watch.h"
#include "comm/traffic.h"

namespace strata::comm {

// Returns messages between the ranks of `communicator`, of which it takes ownership; nothing else
// may use it. Adds sent bytes to `traffic`.
std::unique_ptr<Messages> make_mpi_messages(MPI_Comm communicator,
                                            std::shared_ptr<StallWatch> stall,
                                            std::shared_ptr<Traffic> traffic);

}  // namespace strata::comm
