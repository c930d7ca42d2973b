#include "training/evaluation.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/text/counts.h"
#include "training/batches/batch_shapes.h"
#include "training/schedules/gathers.h"
#include "training/schedules/pipeline.h"
#include "training/sync/losses.h"

namespace strata::training {

std::vector<std::vector<uint32_t>> evaluation_micro_batches(
    std::span<const uint16_t> lengths, int64_t samples, int64_t micro_batch,
    const comm::Communicator& communicator) {
  std::vector<uint32_t> order(static_cast<size_t>(samples));
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return lengths[a] > lengths[b]; });
  std::vector<std::vector<uint32_t>> batches;
  for (auto i = static_cast<size_t>(communicator.rank()); i < order.size();
       i += static_cast<size_t>(communicator.size())) {
    if (batches.empty() || std::ssize(batches.back()) == micro_batch) batches.emplace_back();
    batches.back().push_back(order[i]);
  }
  return batches;
}

int64_t evaluation_samples(int64_t samples, const data::InstanceSource& source) {
  if (samples > source.size()) {
    fail("data.eval_samples={}: the evaluation set has only {}; lower the value", samples,
         counted(source.size(), "sample"));
  }
  return samples == 0 ? source.size() : samples;
}

Evaluator::Evaluator(bert::Model& model, const data::InstanceSource& source, int64_t samples,
                     int64_t micro_batch, comm::Communicator& communicator,
                     comm::WeightGatherer* weights)
    : model_(model),
      source_(source),
      samples_(evaluation_samples(samples, source)),
      communicator_(communicator),
      ranks_(model.stage(), communicator),
      weights_(weights) {
  if (ranks_.stages()) messages_.emplace(model, *ranks_.stages());
  micro_batches_ =
      evaluation_micro_batches(source.lengths(), samples_, micro_batch, ranks_.replicas());
  for (const auto& indices : micro_batches_) {
    batches_.emplace_back(model.backend(), capacity_of(source, indices), model.rounding());
  }
  if (!weights_) return;
  const auto blocks = static_cast<int>(model.blocks().size());
  for (int block = 0; block < blocks; ++block) {
    forward_.tasks.push_back({Task::Kind::kForward, block, 0});
  }
  std::vector<Range> groups;
  for (const device::Arena::Run& group : model.parameters().read_weights().runs()) {
    groups.push_back(group.range);
  }
  forward_ = with_gathers(forward_, gather_groups_of_blocks(model.layout(), groups));
  make_list();
  // The first rank has the most samples.
  const int64_t ranks = communicator.size();
  const int64_t most_samples = (samples_ + ranks - 1) / ranks;
  most_micro_batches_ = (most_samples + micro_batch - 1) / micro_batch;
}

bert::Losses Evaluator::evaluate(int free) {
  if (!uploaded_) upload_samples();
  if (messages_) {
    const auto at_once = static_cast<size_t>(model_.delays().empty() ? model_.in_flight() : 1);
    for (size_t first = 0; first < batches_.size(); first += at_once) {
      const size_t count = std::min(at_once, batches_.size() - first);
      evaluate_in_stages(first, static_cast<int>(count), free);
    }
  } else if (weights_) {
    for (int64_t i = 0; i < most_micro_batches_; ++i) {
      evaluate_gathering(i < std::ssize(batches_) ? &batches_[static_cast<size_t>(i)] : nullptr);
    }
  } else {
    for (const bert::DeviceBatch& batch : batches_) model_.evaluate(batch, free);
  }
  return all_reduce(communicator_, model_.take_evaluation_losses());
}

// Evaluates `count` micro-batches from `first` on. All are in flight, in the activations from
// `free` on.
void Evaluator::evaluate_in_stages(size_t first, int count, int free) {
  const auto blocks = static_cast<int>(model_.blocks().size());
  const Schedule schedule = pipeline_forward(model_.stage(), blocks, count);
  for (Task task : schedule.tasks) {
    const auto& batch = batches_[first + static_cast<size_t>(task.micro_batch)];
    task.micro_batch += free;
    if (peer_of(schedule, task) >= 0) {
      messages_->begin(schedule, task, batch.sequences.tokens);
      continue;
    }
    messages_->wait_for_input_of(task);
    model_.blocks()[static_cast<size_t>(task.block)]->forward(model_.evaluated(batch),
                                                              model_.activations(task.micro_batch));
  }
  messages_->wait_for_all();
}

// All ranks gather together, even those without a batch.
void Evaluator::evaluate_gathering(const bert::DeviceBatch* batch) {
  gathering_batch_ = batch;
  executor_->begin(list_);
  executor_->run(0, list_.size());
  executor_->finish();
}

// Lists the forward through all blocks and the gathers that it waits for.
void Evaluator::make_list() {
  executor_ = comm::make_executor(model_.backend());
  // The last gather of each group.
  std::map<int, int> gathered;
  int last = comm::kNoObject;  // the last forward
  for (const Task& task : forward_.tasks) {
    const auto block = static_cast<size_t>(task.block);
    const int group = forward_.gather_groups[block];
    comm::Operation operation{.kind = task.kind, .object = task.block};
    if (last != comm::kNoObject) operation.after = {last};
    if (task.kind == Task::Kind::kGather) {
      operation.lane = comm::Lane::kGathers;
      operation.run = [this, group] { weights_->gather(group); };
      gathered[group] = list_.add(std::move(operation));
      continue;
    }
    operation.after.push_back(gathered.at(group));
    operation.run = [this, block] {
      if (!gathering_batch_) return;
      model_.blocks()[block]->forward(model_.evaluated(*gathering_batch_), model_.activations());
    };
    last = list_.add(std::move(operation));
  }
}

void Evaluator::upload_samples() {
  data::PackedBatch batch;
  for (size_t i = 0; i < batches_.size(); ++i) {
    source_.read(micro_batches_[i], batch);
    batches_[i].upload(device::Stream::kCompute, batch);
  }
  uploaded_ = true;
}

}  // namespace strata::training
