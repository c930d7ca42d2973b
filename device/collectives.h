// Collectives over device memory, in the order of one stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "device/dtype.h"

namespace strata::device {

// Is told when a thread of the host begins to wait for a device whose work may wait for other
// ranks, so that somebody looks at the time meanwhile.
class HostWaits {
 public:
  virtual ~HostWaits() = default;
  // Returns the number that end() takes. Any thread.
  virtual int begin() = 0;
  virtual void end(int wait) = 0;
};

// One of them, while it lives. `waits` may be null.
class HostWait {
 public:
  explicit HostWait(HostWaits* waits) : waits_(waits), wait_(waits ? waits->begin() : 0) {}
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
  // Gives every rank what rank 0 has in `data`, host memory; all ranks call together.
  std::function<void(void* data, size_t bytes)> broadcast;
  // Told of every synchronize() from now on. Null: nobody is.
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
