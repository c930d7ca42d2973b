// Ranks that work on one job, and what they say to each other.
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

// Messages from rank to rank, in host memory, that travel beside whatever their ranks do. Any
// thread. Failure of another rank ends the process, as in Communicator.
class Messages {
 public:
  virtual ~Messages() = default;

  // Names a message until it is waited for, once.
  using Ticket = size_t;
  // Begin to send bytes, or to receive as many as the other rank sends. Messages between two ranks
  // arrive in the order in which they are sent. `data` must stay as it is until it is waited for.
  virtual Ticket send(const void* data, size_t bytes, int to) = 0;
  virtual Ticket receive(void* data, size_t bytes, int from) = 0;
  // Until what is sent may be overwritten, or what is received is there.
  virtual void wait(Ticket ticket) = 0;
};

// One collective at a time on one communicator; `duplicate` makes an independent one for another
// thread. Memory is host memory. Failure of another rank ends the process (by its launcher); for
// ranks that hang, see end_job_after.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Element-wise sum over ranks, in place; every rank gets the same bits. f32 or f64; f16
  // and bf16 are summed in f32 and rounded once, bf16 unless `accumulate` says otherwise. Sleeps
  // rather than spins while it waits.
  virtual void all_reduce_sum(void* data, int64_t count, device::DType dtype) = 0;
  virtual void all_reduce_sum(std::span<int64_t> values) = 0;
  // The largest over ranks, in place.
  virtual void all_reduce_max(std::span<float> values) = 0;
  // The two halves of an all-reduce of floating-point data. After the first, this rank's shard_of
  // `count` holds the sum, the rest of `data` nothing of use, but zero where all ranks had zero;
  // the second gives every rank's shard to all.
  virtual void reduce_scatter_sum(void* data, int64_t count, device::DType dtype) = 0;
  virtual void all_gather(void* data, int64_t count, device::DType dtype) = 0;
  // How bf16 is summed from now on by this communicator, not by its duplicates. All ranks say the
  // same.
  virtual void accumulate(const Accumulation&) {}
  virtual void broadcast(void* data, size_t bytes, int root) = 0;
  virtual void barrier() = 0;
  // From now on a collective that takes longer than `stall_seconds`, of this communicator, the one
  // it was duplicated from or another duplicate, ends the job with exit code 2 and a message that
  // names the operation and the ranks that do and do not wait in it. 0, as at first: never.
  virtual void end_job_after(double /*stall_seconds*/) {}
  // For a rank that cannot go on: prints "strata: rank R: message" and ends the job with exit code
  // 2. Every rank but 0 first waits a second, so that rank 0, which keeps the files, can tidy them.
  // Never returns; a single rank throws Error.
  virtual void end_job(std::string_view message);
  // Watches the host's waits for a device whose collectives connect these ranks. A wait longer than
  // the limit of end_job_after() ends the job as a collective does. Null: nobody watches.
  virtual std::shared_ptr<device::HostWaits> device_waits() { return nullptr; }
  virtual std::unique_ptr<Communicator> duplicate() = 0;
  // The ranks that give the same color, in the order that they have here. All ranks call together.
  // Throws Error where ranks cannot be split.
  virtual std::unique_ptr<Communicator> split(int color);
  // Between the ranks of this communicator, apart from its collectives. All ranks call together.
  // Throws Error where ranks send each other none.
  virtual std::unique_ptr<Messages> make_messages();
  // What this rank has sent by this communicator, the one it was duplicated from and other
  // duplicates; for others that connect its ranks to add to. Null: nobody counts.
  virtual Traffic* traffic() { return nullptr; }
  // Names and versions of the libraries that it works by, for system descriptions.
  virtual std::vector<std::pair<std::string, std::string>> library_versions() const { return {}; }
};

std::unique_ptr<Communicator> make_single_communicator();
// All ranks of the MPI job. MPI must be initialised with MPI_THREAD_MULTIPLE (see mpi_runtime.h).
std::unique_ptr<Communicator> make_mpi_communicator();

}  // namespace strata::comm
