#include "training/ranks/stage_ranks.h"

#include "base/error.h"

namespace strata::training {

using enum Task::Kind;

StageRanks::StageRanks(const bert::Stage& stage, comm::Communicator& all) : all_(all) {
  if (stage.count == 1) return;
  if (all.size() % stage.count != 0 || all.rank() % stage.count != stage.index) {
    fail("rank {} of {} cannot be stage {} of {}", all.rank(), all.size(), stage.index,
         stage.count);
  }
  replicas_ = all.split(stage.index);
  stages_ = all.split(all.rank() / stage.count);
}

StageMessages::StageMessages(const bert::Model& model, comm::Communicator& stages) : model_(model) {
  const int64_t tokens = model.rounding().rounded(model.capacity()).tokens;
  const device::Tensor largest = model.activations().gradient(tokens);
  point_to_point_ = comm::make_point_to_point(stages, model.backend(), largest.bytes());
  constexpr size_t kMessageKinds = 4;
  tickets_.resize(kMessageKinds * model.blocks().size() * static_cast<size_t>(model.in_flight()));
}

void StageMessages::begin(const Schedule& schedule, const Task& task, int64_t tokens) {
  const bert::Activations& activations = model_.activations(task.micro_batch % model_.in_flight());
  const int peer = peer_of(schedule, task);
  auto& ticket = under_way(task);
  switch (task.kind) {
    case kReceiveInput: {
      const device::Tensor input = activations.input(task.block, tokens);
      ticket = point_to_point_->receive(input.data, input.bytes(), peer);
      return;
    }
    case kSendOutput: {
      const device::Tensor output = activations.output(task.block, tokens);
      ticket = point_to_point_->send(output.data, output.bytes(), peer);
      return;
    }
    case kReceiveGradient: {
      const device::Tensor gradient = activations.gradient(tokens);
      for (int block = task.block + 1; block < schedule.blocks; ++block) {
        finish({kSendGradient, block, task.micro_batch});
      }
      ticket = point_to_point_->receive(gradient.data, gradient.bytes(), peer);
      return;
    }
    case kSendGradient: {
      const device::Tensor gradient = activations.gradient(tokens);
      ticket = point_to_point_->send(gradient.data, gradient.bytes(), peer);
      return;
    }
    default:
      fail("{} is not a task that sends or receives", name_of(task.kind));
  }
}

std::optional<Task> StageMessages::wait_for_input_of(const Task& task) {
  if (!reads_message(task.kind)) return std::nullopt;
  const Task receipt{task.kind == kForward ? kReceiveInput : kReceiveGradient, task.block,
                     task.micro_batch};
  if (!under_way(receipt)) return std::nullopt;
  finish(receipt);
  return receipt;
}

void StageMessages::wait_for_all() {
  for (auto& ticket : tickets_) {
    if (!ticket) continue;
    point_to_point_->wait(*ticket);
    ticket.reset();
  }
}

std::optional<device::PointToPoint::Ticket>& StageMessages::under_way(const Task& task) {
  const auto kind = static_cast<size_t>(task.kind) - static_cast<size_t>(kReceiveInput);
  const auto block = static_cast<size_t>(task.block);
  const auto slot = static_cast<size_t>(task.micro_batch % model_.in_flight());
  return tickets_[(kind * model_.blocks().size() + block) *
                      static_cast<size_t>(model_.in_flight()) +
                  slot];
}

void StageMessages::finish(const Task& task) {
  auto& ticket = under_way(task);
  if (!ticket) return;
  point_to_point_->wait(*ticket);
  ticket.reset();
}

bert::HostWeights weights_of_stage(const bert::Model& model, const bert::HostWeights& whole) {
  bert::HostWeights weights(static_cast<size_t>(model.layout().size));
  bert::copy_groups(bert::ParameterLayout(model.config()), whole, model.layout(), weights);
  return weights;
}

bert::HostWeights gather_stages(const bert::Model& model, const bert::HostWeights& own,
                                comm::Communicator& stages) {
  const bert::ParameterLayout whole(model.config());
  bert::HostWeights weights(static_cast<size_t>(whole.size));
  bert::copy_groups(model.layout(), own, whole, weights);
  const auto blocks = static_cast<int>(whole.groups.size());
  for (int block = 0; block < blocks; ++block) {
    const Range range = whole.group(whole.groups[static_cast<size_t>(blocks - 1 - block)]);
    stages.broadcast(weights.data() + range.begin,
                     static_cast<size_t>(range.size()) * sizeof(float),
                     model.stage().of_block(block, blocks));
  }
  return weights;
}

}  // namespace strata::training
