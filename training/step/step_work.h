// What the operations of a step do that are no bucket's.
#pragma once

#include <optional>
#include <vector>

#include "bert/model/model.h"
#include "comm/buckets/bucket_work.h"
#include "comm/buckets/sharding/weight_gatherer.h"
#include "training/ranks/stage_ranks.h"
#include "training/schedules/schedule.h"
#include "training/trace/compute_times.h"

namespace strata::training {

class StepWork {
 public:
  // For `schedule`, later for `delayed`; the model must have been made for its stage and as many
  // micro-batches in flight. `stages`: the ranks of that schedule's pipeline, which construct
  // together; null: it has one. `weights`: gathers them, if the schedule does. Throws Error if a
  // schedule does not suit the model. All that is given by reference or pointer outlives it.
  StepWork(bert::Model& model, const Schedule& schedule, comm::Communicator* stages = nullptr,
           comm::WeightGatherer* weights = nullptr, std::optional<DelayedWork> delayed = {});

  bert::Model& model() const { return model_; }
  const Schedule& schedule() const { return schedule_; }
  const std::optional<DelayedWork>& delayed() const { return delayed_; }

  // Before every step: the steps since backward was delayed, this one included; 0: it is not.
  void begin_step(int64_t delay_step) { delay_step_ = delay_step; }
  // Between steps: the index, among the micro-batches in flight, of activations that nothing needs;
  // 0 if none are needed.
  int free_activations() const;
  // The uploaded batch becomes micro-batch `number` of the step (see Model::begin).
  void begin(int number, const bert::TrainingStep& step);
  const bert::MicroBatch& micro_batch(int number) { return in_flight(number).micro_batch; }

  // Does what an operation says. `rows`: of the buckets that the list is made with.
  void run(const Task& task, comm::BucketWork& buckets);
  // What runs from now on is timed; null: it is not.
  void time(ComputeTimes* times) { times_ = times; }

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
  const Schedule& current() const { return delay_step_ > 0 ? delayed_->schedule : schedule_; }
  bert::Block& block(const Task& task) const {
    return *model_.blocks()[static_cast<size_t>(task.block)];
  }
  // `task`'s micro-batch, counted since backward was delayed.
  Task numbered(const Task& task) const;
  void compute(const Task& task);
  void complete(const Task& task);

  bert::Model& model_;
  const Schedule schedule_;
  std::vector<InFlight> in_flight_;
  std::optional<StageMessages> messages_;  // of a pipeline
  comm::WeightGatherer* weights_;          // null: all are in memory
  const std::optional<DelayedWork> delayed_;
  int64_t delay_step_ = 0;
  ComputeTimes* times_ = nullptr;
};

}  // namespace strata::training
