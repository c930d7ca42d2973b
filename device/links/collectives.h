// Collectives over device memory, in the order of one stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "device/operations/dtype.h"

namespace strata::device {

// Watches host threads that wait for a device whose work may itself wait for other ranks, so that
// the job ends with a message if a wait never ends. Any thread may call.
class HostWaits {
 public:
  virtual ~HostWaits() = default;

  // Begins a wait. Returns a number for end(). `operation` is a string literal, a noun phrase for
  // the message "rank R waits in <operation>".
  virtual int begin(const char* operation) = 0;
  virtual void end(int wait) = 0;

  // Has a thread call `error` several times a second until remove_check(). A text that is not empty
  // ends the job with it as the message. `error` must not wait. Returns a number for
  // remove_check().
  virtual int add_check(std::function<std::string()> error) = 0;
  // Returns once the check is not being called and never will be again.
  virtual void remove_check(int check) = 0;
};

// One wait, from construction to destruction. `waits` may be null: nobody watches.
class HostWait {
 public:
  HostWait(HostWaits* waits, const char* operation)
      : waits_(waits), wait_(waits ? waits->begin(operation) : 0) {}
  ~HostWait() {
    if (waits_) waits_->end(wait_);
  }
  HostWait(const HostWait&) = delete;
  HostWait& operator=(const HostWait&) = delete;

 private:
  HostWaits* waits_;
  int wait_;
};

// The ranks that a backend connects to each other.
struct RankGroup {
  int rank = 0;
  int size = 1;
  // `data` is host memory: `bytes` for every rank, in rank order. Gives every rank's part to all
  // ranks. All ranks call together. `bytes` is a multiple of 16 (see shard_of in base/range.h).
  std::function<void(void* data, size_t bytes)> all_gather;
  // Set by the backend: this rank's device, for messages.
  std::string device = {};
  // The backend reports to it every call in which the host may wait for the device, from now on.
  // Null: nobody watches.
  std::shared_ptr<HostWaits> waits;
  // Thread blocks (CTAs) of a GPU that a collective takes at most. 0: the library chooses.
  int max_ctas = 0;
};

// What they do is part of a stream: it comes after everything issued there before and ahead of
// everything issued later. All ranks issue the same in the same order. The host may or may not
// wait. Every rank gets the same bits.
class Collectives {
 public:
  virtual ~Collectives() = default;

  // Element-wise sum over ranks, in place: f32, bf16, f16 and f64.
  virtual void all_reduce_sum(void* data, int64_t count, DType dtype) = 0;
  // The largest over ranks, in place.
  virtual void all_reduce_max(float* data, int64_t count) = 0;
  // The two halves of an all-reduce: after the first, this rank's shard_of `count` (base/range.h)
  // holds the sum; the second gives every rank's shard to all.
  virtual void reduce_scatter_sum(void* data, int64_t count, DType dtype) = 0;
  virtual void all_gather(void* data, int64_t count, DType dtype) = 0;
  // Optional: a message from one rank to another of the group, which issues the other half. Without
  // them, messages go through the host.
  virtual bool has_messages() const { return false; }
  virtual void send(const void* /*data*/, size_t /*bytes*/, int /*to*/) {}
  virtual void receive(void* /*data*/, size_t /*bytes*/, int /*from*/) {}
};

}  // namespace strata::device
