#include "training/schedules/schedule.h"

#include "base/error.h"

namespace strata::training {
namespace {

// What has been done so far, in the order of the tasks.
class Progress {
 public:
  explicit Progress(const Schedule& schedule)
      : schedule_(schedule),
        forwards_(static_cast<size_t>(schedule.micro_batches)),
        backwards_(static_cast<size_t>(schedule.micro_batches), schedule.blocks),
        done_(static_cast<size_t>(schedule.blocks)),
        ready_(static_cast<size_t>(schedule.blocks)) {}

  // What keeps `task` from being next; empty: nothing.
  std::string add(const Task& task) {
    if (updated_) return "nothing may follow the update";
    if (task.micro_batch < 0 || task.micro_batch >= schedule_.micro_batches) {
      return "there is no such micro-batch";
    }
    if (task.kind == Task::Kind::kUpdate) {
      updated_ = true;
      for (const bool ready : ready_) {
        if (!ready) return "the gradients of some block were never ready";
      }
      return {};
    }
    if (task.block < 0 || task.block >= schedule_.blocks) return "there is no such block";
    const auto block = static_cast<size_t>(task.block);
    const auto micro_batch = static_cast<size_t>(task.micro_batch);
    switch (task.kind) {
      case Task::Kind::kForward: {
        if (task.block == 0 && ++in_flight_ > schedule_.in_flight) {
          return "too many micro-batches are in flight";
        }
        if (forwards_[micro_batch]++ != task.block) return "forward goes from block to block, once";
        // The first micro-batch's gradients overwrite, the others' are added.
        if (micro_batch > 0 && forwards_[micro_batch - 1] <= task.block) {
          return "the micro-batch before has not been there";
        }
        in_memory_ = task;
        return {};
      }
      case Task::Kind::kRecompute:
        if (!schedule_.recomputes) return "activations are kept";
        if (forwards_[micro_batch] <= task.block) return "forward has not been there";
        in_memory_ = task;
        return {};
      case Task::Kind::kBackward:
        if (forwards_[micro_batch] != schedule_.blocks) return "forward is not through";
        if (schedule_.recomputes &&
            (in_memory_.block != task.block || in_memory_.micro_batch != task.micro_batch)) {
          return "what it reads is not in memory";
        }
        if (--backwards_[micro_batch] != task.block) {
          return "backward goes back from block to block, once";
        }
        if (task.micro_batch != done_[block]++) return "the micro-batch before has not been there";
        if (task.block == 0) --in_flight_;
        return {};
      case Task::Kind::kReady:
        if (done_[block] != schedule_.micro_batches) return "some micro-batch is missing";
        if (ready_[block]) return "it was ready before";
        ready_[block] = true;
        return {};
      case Task::Kind::kUpdate:
        break;
    }
    return {};
  }
  bool updated() const { return updated_; }

 private:
  const Schedule& schedule_;
  std::vector<int> forwards_;   // blocks that a micro-batch's forward is through
  std::vector<int> backwards_;  // the block that its backward was at last
  std::vector<int> done_;       // micro-batches that a block's backward is through
  std::vector<bool> ready_;
  Task in_memory_;  // whose activations are, where they are not kept
  int in_flight_ = 0;
  bool updated_ = false;
};

}  // namespace

const char* name_of(Task::Kind kind) {
  constexpr const char* kNames[] = {"forward", "recompute", "backward", "ready", "update"};
  return kNames[static_cast<size_t>(kind)];
}

void check_schedule(const Schedule& schedule) {
  if (schedule.blocks < 1 || schedule.micro_batches < 1 || schedule.in_flight < 1) {
    fail("schedule {}: has no block, no micro-batch or none in flight", schedule.name);
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

std::vector<Segment> segments_of(const Schedule& schedule) {
  std::vector<Segment> segments;
  std::vector<bool> begun(static_cast<size_t>(schedule.micro_batches));
  const std::span<const Task> tasks = schedule.tasks;
  for (size_t first = 0; first < tasks.size();) {
    size_t end = first + 1;
    while (end < tasks.size() && tasks[end].micro_batch == tasks[first].micro_batch) ++end;
    const int micro_batch = tasks[first].micro_batch;
    segments.push_back(
        {micro_batch, !begun[static_cast<size_t>(micro_batch)], tasks.subspan(first, end - first)});
    begun[static_cast<size_t>(micro_batch)] = true;
    first = end;
  }
  return segments;
}

}  // namespace strata::training
