#include "training/step_walker.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace strata::training {
namespace {

// Whether both do the same for whichever micro-batch they are of.
bool same_work(std::span<const Task> a, std::span<const Task> b) {
  return std::ranges::equal(
      a, b, [](const Task& x, const Task& y) { return x.kind == y.kind && x.block == y.block; });
}

}  // namespace

StepWalker::StepWalker(bert::Model& model, Schedule schedule,
                       std::unique_ptr<device::GraphCache> graphs, comm::Communicator* stages,
                       comm::WeightGatherer* weights)
    : model_(model), schedule_(std::move(schedule)), graphs_(std::move(graphs)), weights_(weights) {
  check_schedule(schedule_);
  if (model.parameters().shards_weights() != !schedule_.units.empty() ||
      (weights != nullptr) != !schedule_.units.empty()) {
    fail("schedule {}: {} weights, unlike the model", schedule_.name,
         schedule_.units.empty() ? "does not gather" : "gathers");
  }
  if (schedule_.blocks != std::ssize(model.blocks())) {
    fail("schedule {}: is for {} blocks, the model has {}", schedule_.name, schedule_.blocks,
         model.blocks().size());
  }
  if (schedule_.in_flight > model.in_flight()) {
    fail("schedule {}: has {} micro-batches in flight, the model memory for {}", schedule_.name,
         schedule_.in_flight, model.in_flight());
  }
  if (schedule_.stage != model.stage()) {
    fail("schedule {}: is of stage {} of {}, the model of stage {} of {}", schedule_.name,
         schedule_.stage.index, schedule_.stage.count, model.stage().index, model.stage().count);
  }
  if ((schedule_.stage.count > 1) != (stages != nullptr)) {
    fail("schedule {}: has {} stages, the ranks {}", schedule_.name, schedule_.stage.count,
         stages ? stages->size() : 1);
  }
  if (graphs_ && model.parameters().shards_gradients()) {
    fail(
        "schedule {}: blocks take turns in memory, so graphs cannot be captured; use "
        "device.graphs false",
        schedule_.name);
  }
  segments_ = segments_of(schedule_);
  if (schedule_.recomputes != model.recomputes()) {
    fail("schedule {}: {} activations, unlike the model", schedule_.name,
         schedule_.recomputes ? "recomputes" : "keeps");
  }
  for (size_t i = 0; graphs_ && i + 1 < segments_.size(); ++i) {
    for (const Task& task : segments_[i].tasks) {
      // What mark_ready begins is joined by the update: both must be captured in one graph.
      if (task.kind == Task::Kind::kReady) {
        fail(
            "schedule {}: block {} is ready before the last segment, so graphs cannot be captured; "
            "use device.graphs false",
            schedule_.name, task.block);
      }
    }
  }
  for (int i = 0; i < schedule_.in_flight; ++i) in_flight_.push_back({&model.activations(i), {}});
  if (stages) messages_.emplace(model, *stages);
}

void StepWalker::begin(const Segment& segment, const bert::TrainingStep& step) {
  bert::TrainingStep of_micro_batch = step;
  of_micro_batch.accumulate = segment.micro_batch > 0 && schedule_.rounds == 1;
  in_flight(segment.micro_batch).micro_batch = model_.begin(of_micro_batch);
}

void StepWalker::announce_rows(const Segment& segment, comm::GradientBuckets& buckets) {
  const bool last = segment.begins && segment.micro_batch + 1 == schedule_.micro_batches;
  if (last && model_.late_words()) buckets.announce_rows(model_.words_of_step());
}

comm::StepTimes StepWalker::run(const Segment& segment, comm::GradientBuckets& buckets,
                                ComputeTimes* times) {
  if (!graphs_ || times) return issue(segment, buckets, times);
  comm::StepTimes result;
  graphs_->run(graph_key(segment), [&] { result = issue(segment, buckets, nullptr); });
  return result;
}

bool StepWalker::capture(const Segment& segment, comm::GradientBuckets& buckets) {
  return graphs_->capture(graph_key(segment), [&] { issue(segment, buckets, nullptr); });
}

comm::StepTimes StepWalker::issue(const Segment& segment, comm::GradientBuckets& buckets,
                                  ComputeTimes* times) {
  announce_rows(segment, buckets);
  const auto& [activations, micro_batch] = in_flight(segment.micro_batch);
  // Gradients that others have had the memory of.
  const bool by_turns = model_.parameters().shards_gradients() && !micro_batch.accumulate;
  const int heads = schedule_.blocks - 1;
  comm::StepTimes result;
  for (const Task& task : segment.tasks) {
    if (task.kind == Task::Kind::kUpdate) {
      if (messages_) messages_->wait_for_sent();
      result = buckets.finish_step();
      continue;
    }
    if (peer_of(schedule_, task) >= 0) {
      messages_->begin(schedule_, task, micro_batch.tokens());
      continue;
    }
    if (task.kind == Task::Kind::kGather) {
      weights_->gather(schedule_.units[static_cast<size_t>(task.block)]);
      continue;
    }
    if (weights_ && reads_weights(task)) {
      weights_->wait(schedule_.units[static_cast<size_t>(task.block)]);
    }
    bert::Block& block = *model_.blocks()[static_cast<size_t>(task.block)];
    if (task.kind == Task::Kind::kReady) {
      block.complete();
      for (const Range& range : model_.completes(block)) buckets.mark_ready(range.begin, range.end);
      if (task.block == 0 && model_.late_words()) buckets.mark_rows_ready();
      continue;
    }
    if (messages_) {
      const std::optional<Task> receipt = messages_->wait_for_input_of(task);
      if (times && receipt) times->end(*receipt, block.name());
    }
    const bool backward = task.kind == Task::Kind::kBackward;
    if (by_turns && (backward || task.block == heads)) begin_writing(task.block, buckets);
    if (backward) {
      block.backward(micro_batch, *activations);
    } else {
      block.forward(micro_batch, *activations);
    }
    if (times) times->end(task, block.name());
  }
  return result;
}

// The losses' gradients come in the heads' forward, those of the tied word embeddings among them.
void StepWalker::begin_writing(int block, comm::GradientBuckets& buckets) {
  const auto begin = [&](int written) {
    const Range& gradients = model_.blocks()[static_cast<size_t>(written)]->gradients();
    buckets.begin_writing(gradients.begin, gradients.end);
  };
  begin(block);
  if (block == schedule_.blocks - 1) begin(0);
}

// What is issued depends on the micro-batch's shape, the memory of its activations and the tasks.
device::GraphCache::Key StepWalker::graph_key(const Segment& segment) {
  const bert::Model::Shape shape = model_.shape(in_flight(segment.micro_batch).micro_batch);
  device::GraphCache::Key key(shape.begin(), shape.end());
  key.push_back(segment.micro_batch % schedule_.in_flight);
  const auto alike = std::ranges::find_if(
      segments_, [&](const Segment& other) { return same_work(other.tasks, segment.tasks); });
  key.push_back(alike - segments_.begin());
  return key;
}

}  // namespace strata::training
