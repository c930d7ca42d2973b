// What runs a list of operations: threads where the device's memory is the host's, else streams.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/order/operation.h"
#include "comm/order/operation_times.h"
#include "device/backend.h"

namespace strata::comm {

// Runs a list step after step. The caller's thread runs the lanes kCompute and kMessages, in list
// order. After an error, whose message reaches the caller, the executor is of no more use.
class Executor {
 public:
  // Waits only for operations that have begun. The others are forgotten.
  virtual ~Executor() = default;

  // A step of `list` begins, which outlives it. Does not allocate if the list is no longer than
  // those before and has no further lanes. Throws Error if a thread cannot be started.
  virtual void begin(const OperationList& list) = 0;
  // Runs the caller's lanes of the operations [first, end), the others beside them. On streams it
  // issues all of them.
  virtual void run(int first, int end) = 0;
  // An external operation is done: whatever Stream::kCompute has been given so far completes it.
  virtual void complete(int operation) = 0;
  // What Stream::kCompute is given next comes after this operation, which all external operations
  // that it needs have been completed for.
  virtual void wait_for(int operation) = 0;
  // What Stream::kCompute is given next comes after the whole step. With threads, waits for it, and
  // the caller helps the lane kArithmetic meanwhile. Returns zeros for a step that is not timed.
  virtual StepTimes finish() = 0;

  // Whether the steps that follow are timed. With threads all are; on streams, finish() waits for
  // those that are, and they must not be captured (Backend::capture).
  virtual void time_steps(bool on) = 0;
  // The bucket operations of the last timed step, in order of completion.
  virtual const std::vector<OperationTime>& times() const = 0;
};

// In host memory, where Backend::memory_is_host(), a lane is a thread, started once a list has the
// lane. Idle threads sleep. The caller also runs kArithmetic if a list has no collectives: a single
// rank sends nothing, so an extra thread would only slow backward down.
//
// On a device a lane is a stream: kCompute is Stream::kCompute, the others are Stream::kReduce.
// Whatever an operation does on the host it does as it is issued.
std::unique_ptr<Executor> make_executor(device::Backend& backend);

std::unique_ptr<Executor> make_thread_executor(device::Backend& backend);
std::unique_ptr<Executor> make_stream_executor(device::Backend& backend);

}  // namespace strata::comm
