// Runs training steps: each is a list of operations, run by the gradient buckets' executor.
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
  // `graphs` captures a segment when it runs a second time with the same shape, and launches the
  // graph from then on. Throws Error if it cannot. The other arguments must outlive this.
  StepExecutor(StepWork& work, comm::GradientBuckets& buckets,
               std::unique_ptr<device::GraphCache> graphs = nullptr);
  StepExecutor(const StepExecutor&) = delete;
  StepExecutor& operator=(const StepExecutor&) = delete;

  // Call before every step: `step` counts training steps from 1; 0 announces a dry run. Returns the
  // arena elements that the step must not update, because their first delayed backward is yet to
  // come.
  std::vector<Range> begin_step(int64_t step);

  // The segments of a step, in the order in which it runs them.
  const std::vector<GraphSegment>& segments() const { return list_->segments; }
  bool captures_graphs() const { return graphs_ != nullptr; }
  device::GraphCache::Captured captured_graphs() const {
    return graphs_ ? graphs_->captured() : device::GraphCache::Captured();
  }

  // Issues a segment's operations. `times`: see StepWork::time. Returns the step's times after its
  // last segment, else zeros.
  comm::StepTimes issue(const GraphSegment& segment, ComputeTimes* times = nullptr);
  // Launches the segment's graph if graphs are captured and `times` is null, else issues the
  // segment.
  comm::StepTimes run(const GraphSegment& segment, ComputeTimes* times = nullptr);
  // Adds the times of the last timed step's bucket operations and gathers to `timeline`.
  void add_times(Timeline& timeline) const { timeline.add(buckets_.times(), names_); }
  // Captures the segment for every later run(). Requires that it has run with this shape before.
  // Returns whether there was room; see device::GraphCache.
  bool capture(const GraphSegment& segment);

 private:
  StepList make_list(const Schedule& schedule, int delay_step);
  void check_captures() const;
  void issue_operations(const GraphSegment& segment, ComputeTimes* times);
  comm::StepTimes finish(const GraphSegment& segment);
  device::GraphCache::Key graph_key(const GraphSegment& segment);

  StepWork& work_;
  comm::GradientBuckets& buckets_;
  const std::unique_ptr<device::GraphCache> graphs_;
  const RunTask run_task_;
  std::vector<std::string> names_;  // names of the blocks
  // The undelayed step, then the first steps with delayed backward, then all later ones.
  std::vector<StepList> lists_;
  const StepList* list_ = nullptr;
};

}  // namespace strata::training
