// The operations of a step that work on blocks. comm::BucketWork does those on buckets.
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
  // Runs `schedule`, and later `delayed`. Requires a model that was made for the schedule's stage
  // and has memory for its micro-batches in flight. `stages` connects the ranks of the pipeline,
  // which construct together; null if it has one stage. `weights` gathers weights if the schedule
  // has gathers, else it is null. Throws Error if a schedule does not suit the model. References
  // and pointers must outlive this object.
  StepWork(bert::Model& model, const Schedule& schedule, comm::Communicator* stages = nullptr,
           comm::WeightGatherer* weights = nullptr, std::optional<DelayedWork> delayed = {});

  bert::Model& model() const { return model_; }
  const Schedule& schedule() const { return schedule_; }
  const std::optional<DelayedWork>& delayed() const { return delayed_; }

  // Call before every step. `delay_step` counts steps with delayed backward from 1; 0: no delay.
  void begin_step(int64_t delay_step) { delay_step_ = delay_step; }
  // Call between steps. Returns the index of activations (Model::activations) that no backward
  // needs any more: 0 without delayed backward, because a step then leaves no activations to read.
  int free_activations() const;
  // The uploaded batch becomes micro-batch `number` of the step (see Model::begin).
  void begin(int number, const bert::TrainingStep& step);
  const bert::MicroBatch& micro_batch(int number) { return in_flight(number).micro_batch; }

  // Runs an operation. `buckets` must be those that the operation's list was made with.
  void run(const Task& task, comm::BucketWork& buckets);
  // Times later forwards, recomputations, backwards and their waits for messages; null stops it.
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
  // Returns `task` with its micro-batch numbered from the start of delayed training.
  Task numbered(const Task& task) const;
  void compute(const Task& task);
  void complete(const Task& task);

  bert::Model& model_;
  const Schedule schedule_;
  std::vector<InFlight> in_flight_;
  std::optional<StageMessages> messages_;  // only in a pipeline
  comm::WeightGatherer* weights_;          // null: all weights are in memory
  const std::optional<DelayedWork> delayed_;
  int64_t delay_step_ = 0;
  ComputeTimes* times_ = nullptr;
};

}  // namespace strata::training
