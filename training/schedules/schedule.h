// The order of forward and backward in one step, as data. micro_batch_order.h, layer_order.h and
// pipeline.h make schedules; gathers.h adds tasks; step_list.h makes a step's operations from them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bert/stage.h"
#include "comm/order/operation.h"

namespace strata::training {

// One piece of work, which becomes an operation of a step (step_list.h).
struct Task {
  using Kind = comm::Operation::Kind;
  Kind kind = Kind::kForward;
  int block = 0;  // its index in Model::blocks()
  int micro_batch = 0;

  bool operator==(const Task&) const = default;
};
// Forward, recompute or backward.
bool reads_weights(const Task& task);
// Whether it may wait for what another stage sends.
bool reads_message(Task::Kind kind);

struct Schedule {
  std::string name;
  bert::Stage stage;  // that walks it
  int blocks = 0;     // of the model
  int micro_batches = 0;
  int in_flight = 1;        // micro-batches that may be between their forward and their backward
  bool recomputes = false;  // blocks keep only their input: see bert::ModelOptions
  // How often a block's gradients are reduced: 1, or after every micro-batch, each of which then
  // overwrites what the one before left.
  int rounds = 1;
  // Where weights are sharded: of every block, the unit that its weights are gathered with,
  // counted from the heads' (comm/buckets/sharding/units.h). Empty: all weights are in memory.
  std::vector<int> units;
  // Where backward is delayed: of every block of the model, by how many steps. The step that begins
  // micro-batch t then goes back with micro-batch t - delay, and reads the weights of that one's
  // forward. Empty: by none.
  std::vector<int> delays;
  std::vector<Task> tasks;
};

// The schedule with delayed backward that training changes to after some steps.
struct DelayedWork {
  Schedule schedule;
  int64_t after_steps = 0;  // in which no backward is delayed
  // The two parts of the word embeddings' gradient are averaged; else they are summed.
  bool averages_tied = false;
};

// How many steps before its own the micro-batch began that a task is of: what goes back is delayed,
// and a gradient is received as old as it is sent, a step before it is read.
int lag_of(const Schedule& schedule, const Task& task);

// Which blocks' weights are in memory: a unit takes the place of its neighbour's neighbours, apart
// from the first and the last, which stay.
class UnitsInMemory {
 public:
  explicit UnitsInMemory(const std::vector<int>& units);
  bool has(int block) const { return present_[unit_of(block)]; }
  void gather(int block);

 private:
  size_t unit_of(int block) const {
    return static_cast<size_t>(units_[static_cast<size_t>(block)]);
  }

  std::vector<int> units_;
  std::vector<bool> present_;
};

// Throws Error, saying which task, unless
// - forward and backward of every block of the stage are there once for every micro-batch;
// - forward follows the block before, or its receipt, and the forward of the micro-batch before;
// - backward follows the block's forward and the backward of the block after, or its receipt;
// - sends follow what they send; kReady all backwards of its block, or those of a round;
// - kUpdate, the last task, follows everything, what other stages read included;
// - at most `in_flight` micro-batches are begun and not finished;
// - where the schedule recomputes, the last forward or recompute before a backward is of its block
//   and micro-batch;
// - a delayed backward needs nothing of its own step, and its block's weights are stashed after it;
// - where weights are gathered, those of every task are in memory;
// - what is sent from a micro-batch's gradient, which has one place, leaves before the next is
//   received there.
void check_schedule(const Schedule& schedule);

// Whether tasks begin with the last backward before their block's gradients are complete.
bool completes(std::span<const Task> tasks);

// The stage that a task of `schedule` sends to or receives from; -1: it does neither.
int peer_of(const Schedule& schedule, const Task& task);

}  // namespace strata::training
