// The list of operations of a whole step: the schedule's forward and backward, and the reduction
// and update of gradients as backward completes them.
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

// The step's properties that decide its operations, apart from its buckets.
struct StepPlan {
  Schedule schedule;
  // Vectors have one element per block of the model, empty for blocks of other stages.
  std::vector<std::string> names;
  std::vector<Range> gradients;               // elements that backward writes
  std::vector<std::vector<Range>> completes;  // elements that the block completes, in this order
  std::vector<Range> halves;                  // gradients that the first half of backward completes
  bool shares_gradients = false;  // gradients share memory, so blocks write them in turn
  bool tied_rows = false;
};
// `layout` describes the model or the schedule's stage of it. `tied_rows`: split_tied_embedding of
// ParameterLayout::completes. `half_layers`: see bert::ModelOptions. Throws Error if the schedule
// is for another number of blocks.
StepPlan make_step_plan(const Schedule& schedule, const bert::ParameterLayout& layout,
                        bool tied_rows = false, bool half_layers = false,
                        bool shares_gradients = false);

// Consecutive operations [first, end) of one micro-batch.
struct GraphSegment {
  int micro_batch = 0;
  bool begins = false;  // true for the first segment of its micro-batch
  int first = 0, end = 0;
};

struct StepList {
  comm::OperationList operations;
  std::vector<GraphSegment> segments;
  std::vector<int> frozen;  // blocks that the step does not update
};

// Runs an operation that is not a bucket's.
using RunTask = std::function<void(const Task&)>;

// Makes the operations of a step. `delay_step` counts the steps with delayed backward from 1; it is
// 0 for a step without delay. Steps 1 to most_delay() leave out operations of micro-batches that
// would have begun before step 1, and clear the gradients of blocks without a backward. If `work`
// and `run` are null, the list cannot be run. Both must outlive it.
StepList make_step_list(const StepPlan& plan, const comm::BucketPlan& buckets,
                        comm::BucketWork* work = nullptr, const RunTask* run = nullptr,
                        int delay_step = 0);
// Returns how many steps at the start of delayed backward differ from the later ones.
int most_delay(const Schedule& schedule);

// Returns the operation's object: "bucket 3", "layer_2", or nothing.
std::string object_of(const comm::Operation& operation, const StepPlan& plan);
// Returns, for each of `buckets` buckets, the operation that completes it in its last round.
std::vector<int> ready_operations(const comm::OperationList& operations, int buckets);

}  // namespace strata::training
