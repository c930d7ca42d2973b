// The order of forward and backward in one step, as data. micro_batch_order.h, layer_order.h,
// pipeline.h and ouroboros.h make schedules; gathers.h adds tasks; step_list.h makes operations.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bert/stage.h"
#include "comm/order/operation.h"

namespace strata::training {

// One piece of work; step_list.h makes it an operation of a step.
struct Task {
  using Kind = comm::Operation::Kind;
  Kind kind = Kind::kForward;
  int block = 0;  // index in Model::blocks()
  int micro_batch = 0;

  bool operator==(const Task&) const = default;
};
// Returns whether the task is a forward, recompute or backward.
bool reads_weights(const Task& task);
// Returns whether a task of this kind may wait for a message of another stage.
bool reads_message(Task::Kind kind);

struct Schedule {
  std::string name;
  bert::Stage stage;  // stage of the rank that runs the schedule
  int blocks = 0;     // blocks of the whole model
  int micro_batches = 0;
  int in_flight = 1;        // maximum number of micro-batches between forward and backward
  bool recomputes = false;  // blocks keep only their input; see bert::ModelOptions
  // How often a step reduces a block's gradients: once, or after every micro-batch. In the second
  // case every micro-batch overwrites the gradients of the previous one.
  int rounds = 1;
  // [blocks] the gather group (comm/buckets/sharding/gather_groups.h) that each block's weights are
  // gathered with, counted from the heads' gather group. Empty if all weights are in memory.
  std::vector<int> gather_groups;
  // [blocks of the model] the steps by which each block's backward is delayed, or empty. The step
  // that begins micro-batch t then runs the backward of micro-batch t - delay, with the weights
  // that its forward read.
  std::vector<int> delays;
  std::vector<Task> tasks;
};

// The schedule with delayed backward that training changes to after some steps.
struct DelayedWork {
  Schedule schedule;
  int64_t after_steps = 0;  // the steps without delayed backward
  // True if the two parts of the word embeddings' gradient are averaged, false if summed.
  bool averages_tied = false;
};

// Returns how many steps ago the task's micro-batch started; 0 without delay. A kReceiveGradient
// has the lag of the other stage's kSendGradient; this stage's backward comes in the next step.
int lag_of(const Schedule& schedule, const Task& task);

// Tracks which blocks' weights are in memory. The first and the last gather group stay in memory;
// the others use two slots alternately.
class GatherGroupsInMemory {
 public:
  explicit GatherGroupsInMemory(const std::vector<int>& gather_groups);
  bool has(int block) const { return present_[gather_group_of(block)]; }
  void gather(int block);

 private:
  size_t gather_group_of(int block) const {
    return static_cast<size_t>(gather_groups_[static_cast<size_t>(block)]);
  }

  std::vector<int> gather_groups_;
  std::vector<bool> present_;
};

// Throws Error with the task unless
// - every block of the stage has one forward and one backward for every micro-batch;
// - forward follows the block before, or the receipt of its output, and the same block's forward of
//   the previous micro-batch;
// - backward follows the block's forward, and the backward of the block after or the receipt of its
//   gradient;
// - every send follows the task whose result it sends;
// - kReady follows all backwards of its block in its round;
// - kUpdate, which stands for the end of backward, comes last, after all sends to other stages;
// - at most `in_flight` micro-batches have begun and not finished;
// - if the schedule recomputes, the last forward or recompute before a backward has the same block
//   and micro-batch;
// - but a delayed backward needs no forward and no received gradient of its own step;
// - kStash follows a delayed backward of its block;
// - if weights are gathered, the weights of every task are in memory;
// - a stage sends a micro-batch's gradient before it receives the next gradient of the same
//   micro-batch, since both use one buffer.
void check_schedule(const Schedule& schedule);

// Returns true if the first of `tasks` is the last backward before its block's kReady.
bool completes(std::span<const Task> tasks);

// Returns the stage that a task of `schedule` sends to or receives from, or -1 if there is none.
int peer_of(const Schedule& schedule, const Task& task);

}  // namespace strata::training
