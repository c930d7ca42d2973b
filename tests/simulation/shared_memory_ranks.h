// Ranks as forked processes that communicate through shared memory, without launcher or MPI.
#pragma once

#include <cstddef>
#include <memory>

#include "comm/communicator.h"
#include "device/backend.h"
#include "tests/simulation/chaos.h"

namespace strata::simulation {

// Must exist before the processes are forked.
class SharedMemory {
 public:
  explicit SharedMemory(int ranks);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  int ranks() const { return ranks_; }
  // Call in a rank's process. Every operation is a moment of `chaos`. `chaos` and this object must
  // outlive the communicator.
  std::unique_ptr<comm::Communicator> communicator(int rank, Chaos& chaos);
  // Returns a rank's result, which it writes at its end.
  int64_t& note(int rank);

 private:
  int ranks_;
  void* memory_;
  size_t bytes_;
};

// Replaces NCCL on a DeferredBackend: collectives run on a stream, through a duplicate of
// `communicator`.
std::unique_ptr<device::Collectives> make_stream_collectives(comm::Communicator& communicator,
                                                             void* stream);

}  // namespace strata::simulation
