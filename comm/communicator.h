// Ranks that work on one job, and what they say to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "device/dtype.h"

namespace strata::comm {

// One collective at a time on one communicator; `duplicate` makes an independent one for another
// thread. Memory is host memory. Failure of another rank ends the process (MPI's error handler),
// never hangs.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Element-wise sum over ranks, in place; every rank gets the same bits. f32 or f64; bf16 is
  // summed in f32 and rounded once. Sleeps rather than spins while it waits.
  virtual void all_reduce_sum(void* data, int64_t count, device::DType dtype) = 0;
  virtual void all_reduce_sum(std::span<int64_t> values) = 0;
  virtual void broadcast(void* data, size_t bytes, int root) = 0;
  virtual void barrier() = 0;
  virtual std::unique_ptr<Communicator> duplicate() = 0;
};

std::unique_ptr<Communicator> make_single_communicator();
// All ranks of the MPI job. MPI must be initialised with MPI_THREAD_MULTIPLE (see mpi_runtime.h).
std::unique_ptr<Communicator> make_mpi_communicator();

}  // namespace strata::comm
