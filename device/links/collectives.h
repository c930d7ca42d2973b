// Collectives over device memory, ordered by one stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "device/operations/dtype.h"

namespace strata::device {

// Watches host threads that wait for a device whose work may wait for other ranks. If a wait never
// ends, the job ends with a message. Thread-safe.
class HostWaits {
 public:
  virtual ~HostWaits() = default;

  // Begins a wait and returns a number for end(). `operation` is a string literal, a noun phrase
  // for the message "rank R waits in <operation>".
  virtual int begin(const char* operation) = 0;
  virtual void end(int wait) = 0;

  // Makes a thread call `error` several times a second until remove_check(). A nonempty result ends
  // the job with that message. `error` must not block. Returns a number for remove_check().
  virtual int add_check(std::function<std::string()> error) = 0;
  // After it returns, the check is not running and never runs again.
  virtual void remove_check(int check) = 0;
};

// Reports one wait from construction to destruction. `waits` may be null.
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

// The ranks that a backend connects with each other.
struct RankGroup {
  int rank = 0;
  int size = 1;
  // `data` is host memory with `bytes` for every rank, in rank order. Gives every rank's part to
  // all ranks. All ranks call together. `bytes` is a multiple of 16 (see shard_of in base/range.h).
  std::function<void(void* data, size_t bytes)> all_gather;
  // The backend sets this to a description of the rank's device, for messages.
  std::string device = {};
  // The backend reports every call in which the host may wait for the device. Null: waits are not
  // watched.
  std::shared_ptr<HostWaits> waits;
  // Maximum number of GPU thread blocks (CTAs) of a collective. 0: the library chooses.
  int max_ctas = 0;
};

// Collectives are ordered with the other work on a stream. All ranks issue the same ones in the
// same order. The host may or may not wait. Every rank gets the same bits.
class Collectives {
 public:
  virtual ~Collectives() = default;

  // Sums element-wise over ranks, in place: f32, bf16, f16 and f64.
  virtual void all_reduce_sum(void* data, int64_t count, DType dtype) = 0;
  // Computes the element-wise maximum over ranks, in place.
  virtual void all_reduce_max(float* data, int64_t count) = 0;
  // The two halves of an all-reduce. After reduce_scatter_sum(), this rank's shard_of `count`
  // (base/range.h) holds the sum. all_gather() gives every rank's shard to all ranks.
  virtual void reduce_scatter_sum(void* data, int64_t count, DType dtype) = 0;
  virtual void all_gather(void* data, int64_t count, DType dtype) = 0;
  // Optional: messages from one rank to another, which issues the matching call. Without them,
  // messages go through the host.
  virtual bool has_messages() const { return false; }
  virtual void send(const void* /*data*/, size_t /*bytes*/, int /*to*/) {}
  virtual void receive(void* /*data*/, size_t /*bytes*/, int /*from*/) {}
};

}  // namespace strata::device
