// Ranks that work on one job, and what they say to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/range.h"
#include "device/dtype.h"

namespace strata::comm {

// One collective at a time on one communicator; `duplicate` makes an independent one for another
// thread. Memory is host memory. Failure of another rank ends the process (by its launcher); for
// ranks that hang, see end_job_after.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Element-wise sum over ranks, in place; every rank gets the same bits. f32 or f64; bf16 is
  // summed in f32 and rounded once. Sleeps rather than spins while it waits.
  virtual void all_reduce_sum(void* data, int64_t count, device::DType dtype) = 0;
  virtual void all_reduce_sum(std::span<int64_t> values) = 0;
  // The largest over ranks, in place.
  virtual void all_reduce_max(std::span<float> values) = 0;
  // The two halves of an all-reduce of floating-point data. After the first, this rank's shard_of
  // `count` holds the sum, the rest of `data` nothing of use, but zero where all ranks had zero;
  // the second gives every rank's shard to all.
  virtual void reduce_scatter_sum(void* data, int64_t count, device::DType dtype) = 0;
  virtual void all_gather(void* data, int64_t count, device::DType dtype) = 0;
  virtual void broadcast(void* data, size_t bytes, int root) = 0;
  virtual void barrier() = 0;
  // From now on a collective that takes longer, of this communicator, the one it was duplicated
  // from or another duplicate, ends the job with exit code 2 and a message that names the operation
  // and the ranks that do and do not wait in it. 0, as at first: never.
  virtual void end_job_after(double /*stall_seconds*/) {}
  virtual std::unique_ptr<Communicator> duplicate() = 0;
  // Names and versions of the libraries that it works by, for system descriptions.
  virtual std::vector<std::pair<std::string, std::string>> library_versions() const { return {}; }
};

std::unique_ptr<Communicator> make_single_communicator();
// All ranks of the MPI job. MPI must be initialised with MPI_THREAD_MULTIPLE (see mpi_runtime.h).
std::unique_ptr<Communicator> make_mpi_communicator();

}  // namespace strata::comm
