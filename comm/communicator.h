// Communication between the ranks of a job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/range.h"
#include "comm/rank_order_sum.h"
#include "comm/traffic.h"
#include "device/links/collectives.h"
#include "device/operations/dtype.h"

namespace strata::comm {

// Messages between ranks, in host memory, which travel while ranks do other work. Thread-safe.
// Failure of another rank ends the process, as in Communicator.
class Messages {
 public:
  virtual ~Messages() = default;

  // Identifies a message until wait(), which is called once for each.
  using Ticket = size_t;
  // Start sending or receiving `bytes` bytes. Messages between two ranks arrive in the order in
  // which they are sent. `data` must not change until wait() returns.
  virtual Ticket send(const void* data, size_t bytes, int to) = 0;
  virtual Ticket receive(void* data, size_t bytes, int from) = 0;
  // Blocks until sent data may be overwritten, or received data has arrived.
  virtual void wait(Ticket ticket) = 0;
};

// A communicator runs one collective at a time; `duplicate` makes an independent one for another
// thread. Memory is host memory. Failure of another rank ends the process (by its launcher); for
// ranks that hang, see end_job_after.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Sums element-wise over ranks, in place. Every rank gets the same bits. Sums f32 and f64 in
  // their own dtype, f16 in f32 with one rounding at the end, bf16 likewise unless `accumulate`
  // says otherwise. Sleeps instead of spinning while it waits.
  virtual void all_reduce_sum(void* data, int64_t count, device::DType dtype) = 0;
  virtual void all_reduce_sum(std::span<int64_t> values) = 0;
  // Computes the element-wise maximum over ranks, in place.
  virtual void all_reduce_max(std::span<float> values) = 0;
  // The two halves of an all-reduce of floating-point data. After reduce_scatter_sum(), this rank's
  // shard_of `count` holds the sum; the rest of `data` is unspecified, but zero where all ranks had
  // zero. all_gather() gives every rank's shard to all ranks.
  virtual void reduce_scatter_sum(void* data, int64_t count, device::DType dtype) = 0;
  virtual void all_gather(void* data, int64_t count, device::DType dtype) = 0;
  // Sets how this communicator, but not its duplicates, sums bf16 from now on. All ranks must
  // agree.
  virtual void accumulate(const Accumulation&) {}
  virtual void broadcast(void* data, size_t bytes, int root) = 0;
  virtual void barrier() = 0;
  // Sets a limit for collectives and messages of this communicator and of all that come from the
  // same one by duplicate() or split(). One that takes longer than `stall_seconds` ends the job
  // with exit code 2 and a message that names the operation and the ranks that do and do not wait
  // in it. 0, the initial value, means no limit.
  virtual void end_job_after(double /*stall_seconds*/) {}
  // Called by a rank that cannot continue: prints "strata: rank R: message" and ends the job with
  // exit code 2. Ranks other than 0 first wait a second, so that rank 0, which writes the files,
  // can finish them. Never returns; without MPI it throws Error.
  virtual void end_job(std::string_view message);
  // Returns the watchdog of host threads that wait for a device that runs collectives. A wait
  // longer than the limit of end_job_after() ends the job, too. Null if waits are not watched.
  virtual std::shared_ptr<device::HostWaits> device_waits() { return nullptr; }
  virtual std::unique_ptr<Communicator> duplicate() = 0;
  // Returns a communicator of the ranks that pass the same color, in their current order. All ranks
  // call together. Throws Error if ranks cannot be split.
  virtual std::unique_ptr<Communicator> split(int color);
  // Returns messages between the ranks of this communicator, independent of its collectives. All
  // ranks call together. Throws Error if ranks cannot send messages.
  virtual std::unique_ptr<Messages> make_messages();
  // Bytes sent by this communicator, the one it was duplicated from and all its duplicates, with
  // their splits, messages and device collectives: see Traffic. Null if traffic is not counted.
  virtual Traffic* traffic() { return nullptr; }
  // Names and versions of the libraries it uses, for system descriptions.
  virtual std::vector<std::pair<std::string, std::string>> library_versions() const { return {}; }
};

std::unique_ptr<Communicator> make_single_communicator();
// Communicates among all ranks of the MPI job. MPI must be initialised with MPI_THREAD_MULTIPLE
// (see mpi_runtime.h).
std::unique_ptr<Communicator> make_mpi_communicator();

}  // namespace strata::comm
