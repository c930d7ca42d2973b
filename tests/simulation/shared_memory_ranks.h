// Ranks that are processes forked from one, which talk through shared memory: no launcher, no MPI.
#pragma once

#include <cstddef>
#include <memory>

#include "comm/communicator.h"
#include "device/backend.h"
#include "tests/simulation/chaos.h"

namespace strata::simulation {

// Made before the processes are forked.
class SharedMemory {
 public:
  explicit SharedMemory(int ranks);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  int ranks() const { return ranks_; }
  // In the process of a rank. Every operation is a moment of `chaos`, which outlives it, as this
  // does.
  std::unique_ptr<comm::Communicator> communicator(int rank, Chaos& chaos);
  // For what a rank has to say in the end.
  int64_t& note(int rank);

 private:
  int ranks_;
  void* memory_;
  size_t bytes_;
};

// Stands in for NCCL on a DeferredBackend: collectives as work of a stream, through a duplicate of
// `communicator`.
std::unique_ptr<device::Collectives> make_stream_collectives(comm::Communicator& communicator,
                                                             void* stream);

}  // namespace strata::simulation
