// Executors run a list of operations: on threads if the device's memory is the host's, else on
// streams.
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
// order. After an error, which is rethrown to the caller, the executor must not be used again.
class Executor {
 public:
  // An executor on threads waits for operations that have begun and drops the others.
  virtual ~Executor() = default;

  // Begins a step of `list`, which must outlive the step. Does not allocate if the list is no
  // longer than earlier lists and uses no new lanes. Throws Error if a thread cannot be started.
  virtual void begin(const OperationList& list) = 0;
  // Runs the caller's lanes of the operations [first, end) while threads run the other lanes. On
  // streams, issues all of them.
  virtual void run(int first, int end) = 0;
  // Marks an operation without `run` done: the work issued to Stream::kCompute so far completes it.
  virtual void complete(int operation) = 0;
  // Makes all later work on Stream::kCompute wait for `operation`. Requires that the operations
  // without `run` that it depends on are done.
  virtual void wait_for(int operation) = 0;
  // Makes all later work on Stream::kCompute wait for the whole step. With threads, blocks until
  // the step is done, and the caller helps with the lane kArithmetic meanwhile. Returns zeros if
  // the step was not timed.
  virtual StepTimes finish() = 0;

  // Switches timing of later steps on or off. Threads always time. On streams, finish() waits for
  // timed steps, and they must not be captured (Backend::capture).
  virtual void time_steps(bool on) = 0;
  // Bucket operations and gathers of the last timed step, in order of completion.
  virtual const std::vector<OperationTime>& times() const = 0;
};

// In host memory (Backend::memory_is_host()) a lane is a thread, which starts with the first list
// that uses the lane. Idle threads sleep. The caller also runs kArithmetic if a list has no
// collectives: a single rank sends nothing, so an extra thread would only slow backward down.
//
// On a device a lane is a stream: Stream::kCompute for kCompute and kMessages, Stream::kReduce for
// the others. An operation does its host work when it is issued.
std::unique_ptr<Executor> make_executor(device::Backend& backend);

std::unique_ptr<Executor> make_thread_executor(device::Backend& backend);
std::unique_ptr<Executor> make_stream_executor(device::Backend& backend);

}  // namespace strata::comm
