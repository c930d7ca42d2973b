#include "training/schedules/schedule.h"

#include <algorithm>

#include "base/error.h"

namespace strata::training {
namespace {

// The work that the tasks so far have done.
class Progress {
 public:
  explicit Progress(const Schedule& schedule)
      : schedule_(schedule),
        done_(static_cast<size_t>(schedule.blocks * schedule.micro_batches)),
        backwards_(static_cast<size_t>(schedule.blocks)),
        ready_(static_cast<size_t>(schedule.blocks)),
        left_(static_cast<size_t>(schedule.micro_batches), own_blocks()),
        weights_(schedule.gather_groups) {}

  // Micro-batches whose gradients are reduced together.
  int in_round() const { return schedule_.micro_batches / schedule_.rounds; }

  // Returns why `task` cannot be next, or an empty text if it can.
  std::string add(const Task& task) {
    if (updated_) return "no task may follow the update";
    if (task.micro_batch < 0 || task.micro_batch >= schedule_.micro_batches) {
      return "there is no such micro-batch";
    }
    if (task.kind == kUpdate) return update();
    if (task.block < 0 || task.block >= schedule_.blocks) return "there is no such block";
    if (!is_own(task.block)) return "another stage has this block";
    if (std::string reason = begin(task); !reason.empty()) return reason;
    if (!schedule_.gather_groups.empty() && reads_weights(task) && !weights_.has(task.block)) {
      return "its weights have not been gathered";
    }
    std::string reason = reason_against(task);
    done(task.block, task.micro_batch) |= bit(task.kind);
    return reason;
  }
  bool updated() const { return updated_; }

 private:
  using enum Task::Kind;
  static uint32_t bit(Task::Kind kind) { return uint32_t{1} << static_cast<uint32_t>(kind); }
  uint32_t& done(int block, int micro_batch) {
    return done_[static_cast<size_t>(block * schedule_.micro_batches + micro_batch)];
  }
  bool has(Task::Kind kind, int block, int micro_batch) {
    return (done(block, micro_batch) & bit(kind)) != 0;
  }
  bool is_own(int block) const { return schedule_.stage.has_block(block, schedule_.blocks); }
  int own_blocks() const {
    int own = 0;
    for (int block = 0; block < schedule_.blocks; ++block) own += is_own(block);
    return own;
  }
  bool reads_other_stage(int block) const { return block > 0 && !is_own(block - 1); }
  bool is_read_by_other_stage(int block) const {
    return block + 1 < schedule_.blocks && !is_own(block + 1);
  }

  int delay_of(int block) const { return lag_of(schedule_, {kBackward, block}); }
  // True if this stage has the next block, too, and runs its backward for the same micro-batch.
  bool continues_backward(int block) const {
    return block + 1 < schedule_.blocks && is_own(block + 1) &&
           delay_of(block + 1) == delay_of(block);
  }

  // A micro-batch is in flight from its first task to its last backward.
  std::string begin(const Task& task) {
    const auto micro_batch = static_cast<size_t>(task.micro_batch);
    if (task.micro_batch >= begun_) {
      if (task.micro_batch > begun_) return "the previous micro-batch has not run yet";
      ++begun_;
      if (++in_flight_ > schedule_.in_flight) return "too many micro-batches are in flight";
    }
    if (task.kind == kBackward && --left_[micro_batch] == 0) --in_flight_;
    return {};
  }

  std::string reason_against(const Task& task) {
    const auto& [kind, block, m] = task;
    const auto index = static_cast<size_t>(block);
    switch (kind) {
      case kGather:
        if (schedule_.gather_groups.empty()) return "all weights are in memory";
        if (weights_.has(block)) return "its weights are in memory already";
        weights_.gather(block);
        return {};
      case kForward:
        if (has(kForward, block, m) ||
            (block > 0 && is_own(block - 1) && !has(kForward, block - 1, m))) {
          return "forward must run once per block, from the first block to the last";
        }
        if (reads_other_stage(block) && !has(kReceiveInput, block, m)) {
          return "its input is not received";
        }
        // Backwards overwrite gradients or add to them in the order of micro-batches.
        if (m > 0 && !has(kForward, block, m - 1)) {
          return "the previous micro-batch has not run yet";
        }
        in_memory_ = task;
        return {};
      case kRecompute:
        if (!schedule_.recomputes) return "activations are kept";
        if (!has(kForward, block, m)) return "forward has not run yet";
        in_memory_ = task;
        return {};
      case kBackward:
        if (delay_of(block) == 0 && !has(kForward, block, m)) return "forward has not finished";
        if (schedule_.recomputes && (in_memory_.block != block || in_memory_.micro_batch != m)) {
          return "its activations are not in memory";
        }
        if (has(kBackward, block, m) ||
            (continues_backward(block) && !has(kBackward, block + 1, m))) {
          return "backward must run once per block, from the last block to the first";
        }
        if (delay_of(block) == 0 && is_read_by_other_stage(block) &&
            !has(kReceiveGradient, block, m)) {
          return "its output's gradient is not received";
        }
        if (backwards_[index] == (ready_[index] + 1) * in_round()) {
          return "it would overwrite gradients that are not reduced";
        }
        if (m != backwards_[index]++) {
          return "the previous micro-batch has not run yet";
        }
        return {};
      case kStash:
        if (delay_of(block) == 0) return "its backward is not delayed";
        if (has(kStash, block, m)) return "its weights were stashed before";
        // The stash overwrites the weights that backward has read.
        return has(kBackward, block, m) ? "" : "backward has not run yet";
      case kReady:
        if (delay_of(block) > 0 && !has(kStash, block, m))
          return "its weights have not been stashed";
        if (ready_[index] == schedule_.rounds) return "its gradients were marked ready before";
        if (backwards_[index] < (ready_[index] + 1) * in_round()) {
          return "a micro-batch is missing";
        }
        ++ready_[index];
        return {};
      case kReceiveInput:
        if (!reads_other_stage(block)) return "no other stage sends it";
        return has(kind, block, m) ? "it was received before" : "";
      case kReceiveGradient:
        if (!is_read_by_other_stage(block)) return "no other stage sends it";
        if (has(kind, block, m)) return "it was received before";
        for (int after = block + 1; after < schedule_.blocks; ++after) {
          const bool same_place = lag_of(schedule_, task) == delay_of(after);
          if (same_place && is_own(after) && reads_other_stage(after) &&
              !has(kSendGradient, after, m)) {
            return "the gradient in its buffer has not been sent";
          }
        }
        return {};
      case kSendOutput:
        if (!is_read_by_other_stage(block)) return "no other stage reads it";
        if (!has(kForward, block, m)) return "forward has not run yet";
        return has(kind, block, m) ? "it was sent before" : "";
      case kSendGradient:
        if (!reads_other_stage(block)) return "no other stage reads it";
        if (!has(kBackward, block, m)) return "backward has not run yet";
        return has(kind, block, m) ? "it was sent before" : "";
      default:
        return "this kind of task is not allowed in a schedule";
    }
  }

  std::string update() {
    updated_ = true;
    for (int block = 0; block < schedule_.blocks; ++block) {
      if (!is_own(block)) continue;
      for (int m = 0; m < schedule_.micro_batches; ++m) {
        // The next step reads this gradient.
        if (delay_of(block) > 0 && is_read_by_other_stage(block) &&
            !has(kReceiveGradient, block, m)) {
          return "the gradient that the next step reads was never received";
        }
        if ((is_read_by_other_stage(block) && !has(kSendOutput, block, m)) ||
            (reads_other_stage(block) && !has(kSendGradient, block, m))) {
          return "data that another stage reads was never sent";
        }
      }
      if (ready_[static_cast<size_t>(block)] < schedule_.rounds) {
        return "the gradients of a block were never marked ready";
      }
    }
    return {};
  }

  const Schedule& schedule_;
  std::vector<uint32_t> done_;  // [blocks][micro-batches]: bits of kinds
  std::vector<int> backwards_;  // micro-batches that have passed each block's backward
  std::vector<int> ready_;      // finished rounds of each block's gradients
  std::vector<int> left_;       // backwards that each micro-batch still needs
  GatherGroupsInMemory weights_;
  // The task whose activations are in memory if activations are recomputed.
  Task in_memory_;
  int begun_ = 0;  // micro-batches that have begun
  int in_flight_ = 0;
  bool updated_ = false;
};

void check_delays(const Schedule& schedule) {
  if (schedule.delays.empty()) return;
  if (std::ssize(schedule.delays) != schedule.blocks) {
    fail("schedule {}: has delays for {} blocks instead of {}", schedule.name,
         schedule.delays.size(), schedule.blocks);
  }
  if (schedule.micro_batches != 1 || schedule.recomputes) {
    fail("schedule {}: delays need one micro-batch per step and kept activations", schedule.name);
  }
  for (int block = 0; block < schedule.blocks; ++block) {
    const int delay = schedule.delays[static_cast<size_t>(block)];
    if (schedule.stage.has_block(block, schedule.blocks) && delay >= schedule.in_flight) {
      fail("schedule {}: block {} has a delay of {} steps, but only {} micro-batches are in flight",
           schedule.name, block, delay, schedule.in_flight);
    }
  }
}

}  // namespace

int lag_of(const Schedule& schedule, const Task& task) {
  using enum Task::Kind;
  if (schedule.delays.empty()) return 0;
  const auto block = static_cast<size_t>(task.block);
  switch (task.kind) {
    case kRecompute:
    case kBackward:
    case kReady:
    case kSendGradient:
      return schedule.delays[block];
    case kReceiveGradient:
      return schedule.delays[block + 1];
    default:
      return 0;
  }
}

bool reads_weights(const Task& task) {
  using enum Task::Kind;
  return task.kind == kForward || task.kind == kRecompute || task.kind == kBackward;
}

bool reads_message(Task::Kind kind) {
  using enum Task::Kind;
  return kind == kForward || kind == kBackward || kind == kBackwardHalf;
}

GatherGroupsInMemory::GatherGroupsInMemory(const std::vector<int>& gather_groups)
    : gather_groups_(gather_groups),
      present_(gather_groups.empty() ? 0
                                     : static_cast<size_t>(std::ranges::max(gather_groups)) + 1) {}

void GatherGroupsInMemory::gather(int block) {
  const size_t group = gather_group_of(block), last = present_.size() - 1;
  const bool stays = group == 0 || group == last;
  for (size_t other = 1; other < last && !stays; ++other) {
    if (other % 2 == group % 2) present_[other] = false;
  }
  present_[group] = true;
}

void check_schedule(const Schedule& schedule) {
  if (schedule.blocks < 1 || schedule.micro_batches < 1 || schedule.in_flight < 1) {
    fail("schedule {}: needs at least one block, one micro-batch and one micro-batch in flight",
         schedule.name);
  }
  if (const bert::Stage& stage = schedule.stage;
      stage.count > 1 && !stage.deals(schedule.blocks - 2)) {
    fail("schedule {}: {} layers cannot be divided evenly among {} stages", schedule.name,
         schedule.blocks - 2, stage.count);
  }
  check_delays(schedule);
  if (!schedule.gather_groups.empty() && std::ssize(schedule.gather_groups) != schedule.blocks) {
    fail("schedule {}: has gather groups for {} blocks instead of {}", schedule.name,
         schedule.gather_groups.size(), schedule.blocks);
  }
  if (schedule.rounds != 1 && schedule.rounds != schedule.micro_batches) {
    fail(
        "schedule {}: reduces gradients {} times in {} micro-batches: only once or in each is "
        "possible",
        schedule.name, schedule.rounds, schedule.micro_batches);
  }
  Progress progress(schedule);
  for (size_t i = 0; i < schedule.tasks.size(); ++i) {
    const Task& task = schedule.tasks[i];
    if (const std::string reason = progress.add(task); !reason.empty()) {
      fail("schedule {}: task {}, {} of block {}, micro-batch {}: {}", schedule.name, i,
           name_of(task.kind), task.block, task.micro_batch, reason);
    }
  }
  if (!progress.updated()) fail("schedule {}: it ends without an update", schedule.name);
}

bool completes(std::span<const Task> tasks) {
  if (tasks.front().kind != Task::Kind::kBackward) return false;
  for (const Task& task : tasks.subspan(1)) {
    if (task.kind == Task::Kind::kReady) return task.block == tasks.front().block;
    if (task.kind == Task::Kind::kBackward) return false;
  }
  return false;
}

int peer_of(const Schedule& schedule, const Task& task) {
  using enum Task::Kind;
  const bool before = task.kind == kReceiveInput || task.kind == kSendGradient;
  const bool after = task.kind == kSendOutput || task.kind == kReceiveGradient;
  if (!before && !after) return -1;
  return schedule.stage.of_block(task.block + (before ? -1 : 1), schedule.blocks);
}

}  // namespace strata::training
