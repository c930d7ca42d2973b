// Walks a schedule: hands each of its tasks to the model's blocks or to the gradient buckets.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bert/model/model.h"
#include "comm/buckets/gradient_buckets.h"
#include "comm/buckets/weights/weight_gatherer.h"
#include "device/graph_cache.h"
#include "training/ranks/stage_ranks.h"
#include "training/schedules/schedule.h"
#include "training/trace/compute_times.h"

namespace strata::training {

// The schedule with delayed backward that a walker changes to after some steps.
struct DelayedWork {
  Schedule schedule;
  int64_t after_steps = 0;  // that have the walker's own schedule
  bool averages_tied =
      false;  // the two parts of the word embeddings' gradient; else they are summed
};

class StepWalker {
 public:
  // `graphs` null: every task is issued; else segments are captured once and launched from then on.
  // The model must have been made for the schedule's stage and as many micro-batches in flight.
  // `stages`: the ranks of that schedule's pipeline, which construct together; null: it has one.
  // `weights`: what gathers them, where the schedule does. Throws Error where the schedule cannot
  // be walked. All that is given by reference or pointer outlives the walker.
  StepWalker(bert::Model& model, Schedule schedule, std::unique_ptr<device::GraphCache> graphs,
             comm::Communicator* stages = nullptr, comm::WeightGatherer* weights = nullptr,
             std::optional<DelayedWork> delayed = {});

  // Where work is delayed in the end, before every step of training, from 1. Returns the arena
  // elements that the step leaves as they are: those whose first delayed backward is yet to come.
  std::vector<Range> begin_step(int64_t step);
  // Between steps: the index, among the micro-batches in flight, of activations that nothing needs;
  // 0 where none are needed.
  int free_activations() const;

  const Schedule& schedule() const { return delay_step_ > 0 ? delayed_->schedule : schedule_; }
  // In the order in which a step runs them.
  const std::vector<Segment>& segments() const {
    return delay_step_ > 0 ? delayed_segments_ : segments_;
  }
  bool captures_graphs() const { return graphs_ != nullptr; }
  device::GraphCache::Captured captured_graphs() const {
    return graphs_ ? graphs_->captured() : device::GraphCache::Captured();
  }

  // The micro-batch of a segment that begins one: the uploaded batch becomes it (see Model::begin).
  void begin(const Segment& segment, const bert::TrainingStep& step);
  // Issues a segment and, where `times` is not null, times it. Returns the times of the segment
  // that updates, zeros of others.
  comm::StepTimes issue(const Segment& segment, comm::GradientBuckets& buckets,
                        ComputeTimes* times);
  // Launches it where graphs are captured and it is not timed, else issues it.
  comm::StepTimes run(const Segment& segment, comm::GradientBuckets& buckets, ComputeTimes* times);
  // Captures it instead, for every run to launch: it has run before with this shape. Returns
  // whether there was room; see device::GraphCache.
  bool capture(const Segment& segment, comm::GradientBuckets& buckets);

 private:
  // A micro-batch between its forward and its backward.
  struct InFlight {
    const bert::Activations* activations = nullptr;
    bert::MicroBatch micro_batch;
  };
  InFlight& in_flight(int64_t micro_batch) {
    return in_flight_[static_cast<size_t>(micro_batch) % in_flight_.size()];
  }
  void check_suits(const Schedule& schedule, comm::Communicator* stages) const;
  // Of the micro-batch that it is of, counted since backward was delayed; none: it would have begun
  // before.
  std::optional<Task> delayed(const Task& task) const;
  // `last`: of its round, after which its block's gradients are complete.
  void backward(bert::Block& block, const Task& task, bool last, comm::GradientBuckets& buckets);
  void mark_ready(const Task& task, bool is_held, comm::GradientBuckets& buckets);
  // Before the segment that begins the last micro-batch, where the model has late words.
  void announce_rows(const Segment& segment, comm::GradientBuckets& buckets);
  void begin_writing(int block, comm::GradientBuckets& buckets);
  device::GraphCache::Key graph_key(const Segment& segment);

  bert::Model& model_;
  Schedule schedule_;
  std::vector<Segment> segments_;
  std::vector<InFlight> in_flight_;
  std::unique_ptr<device::GraphCache> graphs_;
  std::optional<StageMessages> messages_;  // of a pipeline
  comm::WeightGatherer* weights_;          // null: all are in memory
  std::optional<DelayedWork> delayed_;
  std::vector<Segment> delayed_segments_;
  int64_t delay_step_ = 0;  // the steps since backward was delayed, this one included
  Range half_ready_;        // marked ready while the block's backward, the last one, was issued
};

}  // namespace strata::training
