// What works behind GradientBuckets: one engine for host memory, one for device memory.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/buckets/gradient_buckets.h"

namespace strata::comm {

// See GradientBuckets, whose functions these are.
class BucketEngine {
 public:
  virtual ~BucketEngine() = default;
  virtual void scale_loss(float scale) = 0;
  virtual bool overflowed() const = 0;
  virtual void begin_writing(const Range& range) = 0;
  virtual void mark_ready(int64_t begin, int64_t end) = 0;
  virtual void announce_rows(std::span<const uint8_t> touched) = 0;
  virtual void mark_rows_ready() = 0;
  virtual int64_t late_rows() const = 0;
  virtual StepTimes finish_step() = 0;
  virtual void time_steps(bool on) = 0;
  virtual std::optional<double> gradient_norm() = 0;
  virtual const std::vector<Range>& buckets() const = 0;
  virtual const std::vector<BucketEvent>& events() const = 0;
};

// Threads of its own reduce in host memory and wait for the device.
std::unique_ptr<BucketEngine> make_thread_engine(device::Backend& backend,
                                                 Communicator& communicator,
                                                 const device::Arena& gradients,
                                                 std::span<const int64_t> boundaries,
                                                 const BucketOptions& options, BucketUpdate update,
                                                 DeferredUpdate deferred_update);

// Everything is issued on the device's streams by whoever calls: buckets are clipped and reduced on
// Stream::kReduce beside backward, then updated on Stream::kCompute as they arrive.
std::unique_ptr<BucketEngine> make_stream_engine(device::Backend& backend,
                                                 Communicator& communicator,
                                                 const device::Arena& gradients,
                                                 std::span<const int64_t> boundaries,
                                                 const BucketOptions& options, BucketUpdate update,
                                                 DeferredUpdate deferred_update);

}  // namespace strata::comm
