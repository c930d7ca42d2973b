#include "training/schedules/step_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/error.h"

namespace strata::training {

using comm::kNoObject;
using comm::Lane;
using enum Task::Kind;

StepPlan make_step_plan(const Schedule& schedule, const bert::ParameterLayout& layout,
                        bool tied_rows, bool half_layers, bool shares_gradients) {
  const auto blocks = static_cast<size_t>(schedule.blocks);
  StepPlan plan{.schedule = schedule,
                .names = std::vector<std::string>(blocks),
                .gradients = std::vector<Range>(blocks),
                .completes = std::vector<std::vector<Range>>(blocks),
                .halves = std::vector<Range>(blocks),
                .shares_gradients = shares_gradients,
                .tied_rows = tied_rows};
  const std::vector<int64_t> pauses = layout.boundaries_with_halves();
  size_t group = 0;  // the arena has the blocks in the order of backward
  for (size_t block = blocks; block-- > 0;) {
    if (!schedule.stage.has_block(static_cast<int>(block), schedule.blocks)) continue;
    if (group < layout.groups.size()) {
      plan.names[block] = layout.groups[group];
      plan.gradients[block] = {layout.boundaries[group], layout.boundaries[group + 1]};
      plan.completes[block] = layout.completes(group, tied_rows);
      const int64_t begin = layout.boundaries[group];
      const int64_t pause = *std::ranges::upper_bound(pauses, begin);
      const bool has_half = half_layers && pause < layout.boundaries[group + 1];
      plan.halves[block] = {begin, has_half ? pause : begin};
    }
    ++group;
  }
  if (group != layout.groups.size()) {
    fail("schedule {}: is for {} blocks, but the model has {}", schedule.name, group,
         layout.groups.size());
  }
  return plan;
}

namespace {

class Builder {
 public:
  Builder(const StepPlan& plan, const comm::BucketPlan& buckets, comm::BucketWork* work,
          const RunTask* run, int delay_step)
      : plan_(plan),
        schedule_(plan.schedule),
        run_(run),
        delay_step_(delay_step),
        order_(list_.operations, buckets, work) {}

  StepList build() {
    const std::vector<Task>& tasks = schedule_.tasks;
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (i == 0 || tasks[i].micro_batch != tasks[i - 1].micro_batch) begin_segment(tasks[i]);
      add_task(std::span(tasks).subspan(i));
      list_.segments.back().end = list_.operations.size();
    }
    return std::move(list_);
  }

 private:
  void begin_segment(const Task& task) {
    const auto same = [&](const GraphSegment& segment) {
      return segment.micro_batch == task.micro_batch;
    };
    const bool begins = std::ranges::none_of(list_.segments, same);
    list_.segments.push_back({task.micro_batch, begins, list_.operations.size(), 0});
    if (begins && plan_.tied_rows && task.micro_batch + 1 == schedule_.micro_batches) {
      order_.add_touched_rows(add({kTouchedRows, kNoObject, task.micro_batch}, Lane::kCompute, {}));
    }
  }

  int add(const Task& task, Lane lane, std::vector<int> after) {
    std::erase(after, kNoObject);
    std::function<void()> run;
    if (run_) run = [run = run_, task] { (*run)(task); };
    const int place = list_.operations.add({.kind = task.kind,
                                            .object = task.block,
                                            .round = task.micro_batch,
                                            .lane = lane,
                                            .after = std::move(after),
                                            .run = std::move(run),
                                            .may_be_captured = lane == Lane::kCompute});
    if (lane == Lane::kCompute) last_computed_ = place;
    return place;
  }

  // Adds the operations of the first task. The later tasks of the step tell whether it completes
  // its block.
  void add_task(std::span<const Task> tasks) {
    const Task& task = tasks.front();
    const int lag = lag_of(schedule_, task);
    const bool is_from_before = lag > 0 && delay_step_ > 0 && lag >= delay_step_;
    if (task.kind == kReady) return add_ready(task, is_from_before);
    if (is_from_before) return;
    if (task.kind == kUpdate) {
      Task end = task;
      end.kind = kEndBackward;
      end.block = kNoObject;
      order_.add_updates(add(end, Lane::kCompute, {last_computed_}));
    } else if (task.kind == kGather) {
      // The weights take memory that the computation before still reads.
      gathered_[gather_group_of(task)] = add(task, Lane::kGathers, {last_computed_});
    } else if (peer_of(schedule_, task) >= 0) {
      int& last = last_of(task, lag);
      const bool receives = task.kind == kReceiveInput || task.kind == kReceiveGradient;
      const int place = add(task, Lane::kMessages, {receives ? kNoObject : last});
      if (receives)
        received_[{task.kind == kReceiveInput, task.block, task.micro_batch, lag}] = place;
    } else if (task.kind == kBackward && has_half(task) && completes(tasks)) {
      Task half = task, rest = task;
      half.kind = kBackwardHalf;
      rest.kind = kBackwardRest;
      const int begun = add_compute(half, lag);
      order_.mark_ready(this_half(task), begun);
      add_compute(rest, lag);
      half_ready_ = true;
    } else {
      add_compute(task, lag);
    }
  }

  int add_compute(const Task& task, int lag) {
    int& last = last_of(task, lag);
    std::vector<int> after = {last};
    const auto receipt = received_.find(input_of(task, lag));
    if (reads_message(task.kind) && receipt != received_.end()) after.push_back(receipt->second);
    if (reads_weights(task) && !schedule_.gather_groups.empty()) {
      const auto gathered = gathered_.find(gather_group_of(task));
      if (gathered != gathered_.end()) after.push_back(gathered->second);
    }
    add_before_writing(task, after);
    return last = add(task, Lane::kCompute, std::move(after));
  }

  // Makes the task wait until gradients that used its gradients' memory before have been reduced.
  // The heads' forward also writes gradients: its own and the tied word embeddings'.
  void add_before_writing(const Task& task, std::vector<int>& after) {
    const bool is_heads = task.block == schedule_.blocks - 1;
    const bool accumulates = task.micro_batch > 0 && schedule_.rounds == 1;
    if (!plan_.shares_gradients || accumulates || (task.kind != kBackward && !is_heads)) return;
    const auto write = [&](int block) {
      const auto reduced = order_.before_writing(plan_.gradients[static_cast<size_t>(block)]);
      if (reduced && *reduced == kNoObject) {
        fail("schedule {}: block {} overwrites gradients that are not ready", schedule_.name,
             task.block);
      }
      after.push_back(reduced.value_or(kNoObject));
    };
    write(task.block);
    if (is_heads) write(0);
  }

  void add_ready(const Task& task, bool is_frozen) {
    const auto block = static_cast<size_t>(task.block);
    Task ready = task;
    if (is_frozen) {
      ready.kind = kFreeze;
      list_.frozen.push_back(task.block);
    }
    const int place = add(ready, Lane::kCompute, {last_computed_});
    const Range half = this_half(task);
    for (const Range& range : plan_.completes[block]) {
      const bool begun = std::exchange(half_ready_, false) && range.begin == half.begin;
      order_.mark_ready({begun ? half.end : range.begin, range.end}, place);
    }
    if (task.block == 0 && plan_.tied_rows) order_.mark_rows_ready(place);
  }

  // Returns the last task of the same micro-batch and lag: such tasks run one after another.
  int& last_of(const Task& task, int lag) {
    return last_.try_emplace({task.micro_batch, lag}, kNoObject).first->second;
  }
  // Key of a received message: whether forward reads it; the reader's block, micro-batch and lag.
  using Receipt = std::tuple<bool, int, int, int>;
  static Receipt input_of(const Task& task, int lag) {
    return {task.kind == kForward, task.block, task.micro_batch, lag};
  }
  int gather_group_of(const Task& task) const {
    return schedule_.gather_groups[static_cast<size_t>(task.block)];
  }
  Range this_half(const Task& task) const { return plan_.halves[static_cast<size_t>(task.block)]; }
  bool has_half(const Task& task) const { return this_half(task).size() > 0; }

  const StepPlan& plan_;
  const Schedule& schedule_;
  const RunTask* run_;
  int delay_step_;
  StepList list_;
  comm::BucketOrder order_;
  int last_computed_ = kNoObject;
  bool half_ready_ = false;  // the last block's half has begun its reduction
  // The last operation of each micro-batch and lag.
  std::map<std::pair<int, int>, int> last_;
  std::map<Receipt, int> received_;
  std::map<int, int> gathered_;  // the last gather of each gather group
};

}  // namespace

StepList make_step_list(const StepPlan& plan, const comm::BucketPlan& buckets,
                        comm::BucketWork* work, const RunTask* run, int delay_step) {
  return Builder(plan, buckets, work, run, delay_step).build();
}

int most_delay(const Schedule& schedule) {
  int most = 0;
  for (const Task& task : schedule.tasks) most = std::max(most, lag_of(schedule, task));
  return most;
}

std::string object_of(const comm::Operation& operation, const StepPlan& plan) {
  if (operation.object == kNoObject) return {};
  if (is_of_bucket(operation.kind)) return fmt::format("bucket {}", operation.object);
  return plan.names[static_cast<size_t>(operation.object)];
}

std::vector<int> ready_operations(const comm::OperationList& operations, int buckets) {
  std::vector<int> ready(static_cast<size_t>(buckets), kNoObject);
  for (const comm::Operation& operation : operations.operations()) {
    if (operation.kind != kClip) continue;
    for (const int before : operation.after) {
      if (operations[before].lane == Lane::kCompute) {
        ready[static_cast<size_t>(operation.object)] = before;
      }
    }
  }
  return ready;
}

}  // namespace strata::training
