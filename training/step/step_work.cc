#include "training/step/step_work.h"

#include <utility>

#include "base/error.h"

namespace strata::training {

using enum Task::Kind;

StepWork::StepWork(bert::Model& model, const Schedule& schedule, comm::Communicator* stages,
                   comm::WeightGatherer* weights, std::optional<DelayedWork> delayed)
    : model_(model), schedule_(schedule), weights_(weights), delayed_(std::move(delayed)) {
  check_suits(schedule_, stages);
  if (!schedule_.delays.empty())
    fail("schedule {}: the first steps must have no delay", schedule_.name);
  int in_flight = schedule_.in_flight;
  if (delayed_) {
    check_suits(delayed_->schedule, stages);
    if (delayed_->schedule.delays != model.delays()) {
      fail("schedule {}: its delays differ from the model's", delayed_->schedule.name);
    }
    in_flight = delayed_->schedule.in_flight;
  }
  for (int i = 0; i < in_flight; ++i) in_flight_.push_back({&model.activations(i), {}});
  if (stages) messages_.emplace(model, *stages);
}

void StepWork::check_suits(const Schedule& schedule, comm::Communicator* stages) const {
  check_schedule(schedule);
  if (model_.parameters().shards_weights() != !schedule.gather_groups.empty() ||
      (weights_ != nullptr) != !schedule.gather_groups.empty()) {
    fail("schedule {}: {} weights, unlike the model", schedule.name,
         schedule.gather_groups.empty() ? "does not gather" : "gathers");
  }
  if (schedule.blocks != std::ssize(model_.blocks())) {
    fail("schedule {}: is for {} blocks, but the model has {}", schedule.name, schedule.blocks,
         model_.blocks().size());
  }
  if (schedule.in_flight > model_.in_flight()) {
    fail("schedule {}: has {} micro-batches in flight, but the model has memory for {}",
         schedule.name, schedule.in_flight, model_.in_flight());
  }
  if (schedule.stage != model_.stage()) {
    fail("schedule {}: is for stage {} of {}, but the model is stage {} of {}", schedule.name,
         schedule.stage.index, schedule.stage.count, model_.stage().index, model_.stage().count);
  }
  if ((schedule.stage.count > 1) != (stages != nullptr)) {
    fail("schedule {}: has {} stages, but the ranks have {}", schedule.name, schedule.stage.count,
         stages ? stages->size() : 1);
  }
  if (schedule.recomputes != model_.recomputes()) {
    fail("schedule {}: {} activations, unlike the model", schedule.name,
         schedule.recomputes ? "recomputes" : "keeps");
  }
}

int StepWork::free_activations() const {
  if (!delayed_) return 0;
  return static_cast<int>((delay_step_ + 1) % std::ssize(in_flight_));
}

void StepWork::begin(int number, const bert::TrainingStep& step) {
  bert::TrainingStep of_micro_batch = step;
  of_micro_batch.accumulate = number > 0 && schedule_.rounds == 1;
  in_flight(number + delay_step_).micro_batch = model_.begin(of_micro_batch);
}

Task StepWork::numbered(const Task& task) const {
  Task numbered = task;
  numbered.micro_batch += static_cast<int>(delay_step_ - lag_of(current(), task));
  return numbered;
}

void StepWork::run(const Task& task, comm::BucketWork& buckets) {
  switch (task.kind) {
    case kForward:
    case kRecompute:
    case kBackward:
    case kBackwardHalf:
    case kBackwardRest:
      return compute(task);
    case kStash:
      return model_.stash_weights(block(task), numbered(task).micro_batch);
    case kReady:
    case kFreeze:
      return complete(task);
    case kGather:
      return weights_->gather(schedule_.gather_groups[static_cast<size_t>(task.block)]);
    case kReceiveInput:
    case kSendOutput:
    case kReceiveGradient:
    case kSendGradient:
      return messages_->begin(schedule_, numbered(task),
                              in_flight(numbered(task).micro_batch).micro_batch.tokens());
    case kTouchedRows:
      return buckets.rows().announce(model_.words_of_step());
    case kEndBackward:
      if (messages_) messages_->wait_for_all();
      return;
    default:
      fail("{} is not an operation of a block", name_of(task.kind));
  }
}

void StepWork::compute(const Task& task) {
  const Task now = numbered(task);
  bert::Block& block = this->block(task);
  const auto& [activations, micro_batch] = in_flight(now.micro_batch);
  if (messages_) {
    const std::optional<Task> receipt = messages_->wait_for_input_of(now);
    if (times_ && receipt) {
      times_->end({receipt->kind, receipt->block, task.micro_batch}, block.name());
    }
  }
  if (task.kind == kBackwardHalf) {
    block.backward_half(micro_batch, *activations);
  } else if (task.kind == kBackwardRest) {
    block.backward_rest(micro_batch, *activations);
  } else if (task.kind != kBackward) {
    block.forward(micro_batch, *activations);
  } else if (lag_of(current(), task) > 0) {
    model_.delayed_backward(block, now.micro_batch, micro_batch, *activations);
  } else {
    block.backward(micro_batch, *activations);
  }
  if (times_) times_->end(task, block.name());
}

// A frozen block's gradients must not count in norms. The tied word embeddings still get the heads'
// part.
void StepWork::complete(const Task& task) {
  if (task.kind == kFreeze) {
    model_.clear_gradients(model_.untied(block(task)));
  } else {
    block(task).complete();
  }
  if (task.block == 0 && delay_step_ > 0 && delayed_->averages_tied) model_.halve_word_gradient();
}

}  // namespace strata::training
