// Runs the steps of training: the list of operations of a step, on the executor of its buckets.
#pragma once

#include <memory>
#include <vector>

#include "comm/buckets/gradient_buckets.h"
#include "device/graph_cache.h"
#include "training/schedules/step_list.h"
#include "training/step/step_work.h"

namespace strata::training {

class StepExecutor {
 public:
  // `graphs` null: every operation is issued; else segments are captured once and launched from
  // then on. Throws Error if graphs cannot be captured. All else outlives it.
  StepExecutor(StepWork& work, comm::GradientBuckets& buckets,
               std::unique_ptr<device::GraphCache> graphs = nullptr);
  StepExecutor(const StepExecutor&) = delete;
  StepExecutor& operator=(const StepExecutor&) = delete;

  // Before every step of training, from 1; 0: a step that is none of training. Returns the arena
  // elements that the step does not update: those whose first delayed backward is yet to come.
  std::vector<Range> begin_step(int64_t step);

  // In the order in which a step runs them.
  const std::vector<Segment>& segments() const { return list_->segments; }
  bool captures_graphs() const { return graphs_ != nullptr; }
  device::GraphCache::Captured captured_graphs() const {
    return graphs_ ? graphs_->captured() : device::GraphCache::Captured();
  }

  // Runs a segment and, where `times` is not null, times it. Returns the times of the step with its
  // last segment, else zeros.
  comm::StepTimes issue(const Segment& segment, ComputeTimes* times = nullptr);
  // Launches it where graphs are captured and it is not timed, else issues it.
  comm::StepTimes run(const Segment& segment, ComputeTimes* times = nullptr);
  // Adds when the operations of the last timed step ran, but for forward and backward.
  void add_times(Timeline& timeline) const { timeline.add(buckets_.times(), names_); }
  // Captures it instead, for every run to launch: it has run before with this shape. Returns
  // whether there was room; see device::GraphCache.
  bool capture(const Segment& segment);

 private:
  StepList make_list(const Schedule& schedule, int delay_step);
  void check_captures() const;
  void issue_operations(const Segment& segment, ComputeTimes* times);
  comm::StepTimes finish(const Segment& segment);
  device::GraphCache::Key graph_key(const Segment& segment);

  StepWork& work_;
  comm::GradientBuckets& buckets_;
  const std::unique_ptr<device::GraphCache> graphs_;
  const RunTask run_task_;
  std::vector<std::string> names_;  // of the blocks
  // The undelayed step, then the first steps with delayed backward, then all later ones.
  std::vector<StepList> lists_;
  const StepList* list_ = nullptr;
};

}  // namespace strata::training
