// Ranks that are stages of replicas of the model, and what stages send each other.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bert/model/model.h"
#include "comm/communicator.h"
#include "comm/messages/point_to_point.h"
#include "training/schedules/schedule.h"

namespace strata::training {

// Of P stages rank r is stage r mod P of replica r / P. Where there is one stage, every rank is a
// replica.
class StageRanks {
 public:
  // `stage` is this rank's. All ranks construct together; `all` outlives it.
  StageRanks(const bert::Stage& stage, comm::Communicator& all);

  // Those that have the same stage of other replicas: gradients are reduced over them, samples are
  // dealt to them.
  comm::Communicator& replicas() const { return replicas_ ? *replicas_ : all_; }
  // The stages of this rank's replica, in order; null: this rank has the whole model.
  comm::Communicator* stages() const { return stages_.get(); }

 private:
  comm::Communicator& all_;
  std::unique_ptr<comm::Communicator> replicas_, stages_;  // null: there is one stage
};

// What crosses the borders of a stage.
class StageMessages {
 public:
  // For any schedule with at most model.in_flight() micro-batches in flight. All ranks of `stages`
  // construct together; all outlive it.
  StageMessages(const bert::Model& model, comm::Communicator& stages);

  // Begins what a task of `schedule` sends or receives; waits for what is still on its way from or
  // to the same place.
  void begin(const Schedule& schedule, const Task& task, int64_t tokens);
  // For what a forward or backward reads of another stage. Returns the task that receives it, if
  // there is one.
  std::optional<Task> wait_for_input_of(const Task& task);
  // Until all that was sent may be overwritten, and all is here that was to be received.
  void wait_for_all();

 private:
  // Named by the task that begins it.
  std::optional<device::PointToPoint::Ticket>& under_way(const Task& task);
  void finish(const Task& task);

  const bert::Model& model_;
  std::unique_ptr<device::PointToPoint> point_to_point_;
  // [kinds of messages][blocks][micro-batches in flight]; none: not under way.
  std::vector<std::optional<device::PointToPoint::Ticket>> tickets_;
};

// Those of the whole model's weights that the stage has.
bert::HostWeights weights_of_stage(const bert::Model& model, const bert::HostWeights& whole);
// The weights of all stages, of which this rank's are `own`, on every rank of `stages`, which call
// together.
bert::HostWeights gather_stages(const bert::Model& model, const bert::HostWeights& own,
                                comm::Communicator& stages);

}  // namespace strata::training
