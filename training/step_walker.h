// Walks a schedule: hands each of its tasks to the model's blocks or to the gradient buckets.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bert/model/model.h"
#include "comm/buckets/gradient_buckets.h"
#include "comm/buckets/weight_gatherer.h"
#include "device/graph_cache.h"
#include "training/ranks/stage_ranks.h"
#include "training/schedules/schedule.h"
#include "training/trace/compute_times.h"

namespace strata::training {

class StepWalker {
 public:
  // `graphs` null: every task is issued; else segments are captured once and launched from then on.
  // The model must have been made for the schedule's stage and as many micro-batches in flight.
  // `stages`: the ranks of that schedule's pipeline, which construct together; null: it has one.
  // `weights`: what gathers them, where the schedule does. Throws Error where the schedule cannot
  // be walked. All that is given by reference or pointer outlives the walker.
  StepWalker(bert::Model& model, Schedule schedule, std::unique_ptr<device::GraphCache> graphs,
             comm::Communicator* stages = nullptr, comm::WeightGatherer* weights = nullptr);

  const Schedule& schedule() const { return schedule_; }
  // In this order a step runs them.
  const std::vector<Segment>& segments() const { return segments_; }
  bool captures_graphs() const { return graphs_ != nullptr; }

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
  InFlight& in_flight(int micro_batch) {
    return in_flight_[static_cast<size_t>(micro_batch) % in_flight_.size()];
  }
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
};

}  // namespace strata::training
