// The list of operations of a whole step: the schedule's forward and backward, and between them
// what happens to gradients.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/range.h"
#include "bert/parameters/parameters.h"
#include "comm/buckets/bucket_order.h"
#include "comm/order/operation.h"
#include "training/schedules/schedule.h"

namespace strata::training {

// What decides a step's operations, but for its buckets.
struct StepPlan {
  Schedule schedule;
  // [blocks of the model] empty for those of other stages.
  std::vector<std::string> names;
  std::vector<Range> gradients;               // what backward writes
  std::vector<std::vector<Range>> completes;  // what is complete with the block, in this order
  std::vector<Range> halves;                  // of these, what the first part of backward completes
  bool shares_gradients = false;  // gradients share memory, so that they are written in turn
  bool tied_rows = false;
};
// `layout`: of the model, or of the schedule's stage of it. `tied_rows`: see
// ParameterLayout::completes; `half_layers`: see bert::ModelOptions. Throws Error if the schedule
// is for another number of blocks.
StepPlan make_step_plan(const Schedule& schedule, const bert::ParameterLayout& layout,
                        bool tied_rows = false, bool half_layers = false,
                        bool shares_gradients = false);

// Operations that follow each other and are of one micro-batch.
struct Segment {
  int micro_batch = 0;
  bool begins = false;  // its micro-batch
  int first = 0, end = 0;
};

struct StepList {
  comm::OperationList operations;
  std::vector<Segment> segments;
  std::vector<int> frozen;  // blocks that the step does not update
};

// Does what an operation that is no bucket's says.
using RunTask = std::function<void(const Task&)>;

// The step that is the `delay_step`th with delayed backward; 0 where none is delayed, or long
// since. What belongs to micro-batches from before is left out, and the gradients of blocks without
// a backward are cleared. `work` and `run` null: the list is not to be run. All outlive the list.
StepList make_step_list(const StepPlan& plan, const comm::BucketPlan& buckets,
                        comm::BucketWork* work = nullptr, const RunTask* run = nullptr,
                        int delay_step = 0);
// How many steps differ at the beginning of delayed backward.
int most_delay(const Schedule& schedule);

// "clip 3", "forward layer_2"; the object alone is "bucket 3", "layer_2", or nothing.
std::string object_of(const comm::Operation& operation, const StepPlan& plan);
// The operation that completes a bucket, in its last round.
int ready_operation(const comm::OperationList& operations, int bucket);

}  // namespace strata::training
