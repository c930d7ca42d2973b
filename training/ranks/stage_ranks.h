// The ranks that are stages of the model's replicas, and the messages between stages.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bert/model/model.h"
#include "comm/communicator.h"
#include "comm/messages/point_to_point.h"
#include "training/schedules/schedule.h"

namespace strata::training {

// With P stages, rank r is stage r mod P of replica r / P. With one stage, every rank is a replica.
class StageRanks {
 public:
  // `stage` is this rank's stage. All ranks construct together. `all` must outlive the object.
  StageRanks(const bert::Stage& stage, comm::Communicator& all);

  // The ranks that have this stage in their replica. They share out samples and reduce gradients.
  comm::Communicator& replicas() const { return replicas_ ? *replicas_ : all_; }
  // The stages of this rank's replica, in order; null if this rank has the whole model.
  comm::Communicator* stages() const { return stages_.get(); }

 private:
  comm::Communicator& all_;
  std::unique_ptr<comm::Communicator> replicas_, stages_;  // null: there is one stage
};

// Sends and receives activations and gradients between stages.
class StageMessages {
 public:
  // Serves any schedule with at most model.in_flight() micro-batches in flight. All ranks of
  // `stages` construct together. References must outlive the object.
  StageMessages(const bert::Model& model, comm::Communicator& stages);

  // Begins the task's message. To receive a gradient, first waits for sends from the same buffer.
  void begin(const Schedule& schedule, const Task& task, int64_t tokens);
  // Waits for the message that a forward or backward reads. Returns the task that receives it, if
  // any.
  std::optional<Task> wait_for_input_of(const Task& task);
  // Waits until all messages have arrived and all sent buffers may be overwritten.
  void wait_for_all();

 private:
  // The ticket of the message that `task` begins.
  std::optional<device::PointToPoint::Ticket>& under_way(const Task& task);
  void finish(const Task& task);

  const bert::Model& model_;
  std::unique_ptr<device::PointToPoint> point_to_point_;
  // [kinds of messages][blocks][micro-batches in flight]; nullopt: no message is under way.
  std::vector<std::optional<device::PointToPoint::Ticket>> tickets_;
};

// Returns the part of the whole model's weights that belongs to the model's stage.
bert::HostWeights weights_of_stage(const bert::Model& model, const bert::HostWeights& whole);
// Returns the weights of all stages on every rank of `stages`; `own` are this rank's. All ranks of
// `stages` call together.
bert::HostWeights gather_stages(const bert::Model& model, const bert::HostWeights& own,
                                comm::Communicator& stages);

}  // namespace strata::training
