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
                       comm::WeightGatherer* weights, std::optional<DelayedWork> delayed)
    : model_(model),
      schedule_(std::move(schedule)),
      graphs_(std::move(graphs)),
      weights_(weights),
      delayed_(std::move(delayed)) {
  check_suits(schedule_, stages);
  if (!schedule_.delays.empty()) {
    fail("schedule {}: a walker begins without delay", schedule_.name);
  }
  int in_flight = schedule_.in_flight;
  if (delayed_) {
    check_suits(delayed_->schedule, stages);
    if (graphs_) fail("schedule {}: graphs cannot be captured", delayed_->schedule.name);
    if (delayed_->schedule.delays != model.delays()) {
      fail("schedule {}: has other delays than the model", delayed_->schedule.name);
    }
    delayed_segments_ = segments_of(delayed_->schedule);
    in_flight = delayed_->schedule.in_flight;
  }
  if (graphs_ && model.parameters().shards_gradients()) {
    fail(
        "schedule {}: blocks take turns in memory, so graphs cannot be captured; use "
        "device.graphs false",
        schedule_.name);
  }
  segments_ = segments_of(schedule_);
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
  for (int i = 0; i < in_flight; ++i) in_flight_.push_back({&model.activations(i), {}});
  if (stages) messages_.emplace(model, *stages);
}

void StepWalker::check_suits(const Schedule& schedule, comm::Communicator* stages) const {
  check_schedule(schedule);
  if (model_.parameters().shards_weights() != !schedule.units.empty() ||
      (weights_ != nullptr) != !schedule.units.empty()) {
    fail("schedule {}: {} weights, unlike the model", schedule.name,
         schedule.units.empty() ? "does not gather" : "gathers");
  }
  if (schedule.blocks != std::ssize(model_.blocks())) {
    fail("schedule {}: is for {} blocks, the model has {}", schedule.name, schedule.blocks,
         model_.blocks().size());
  }
  if (schedule.in_flight > model_.in_flight()) {
    fail("schedule {}: has {} micro-batches in flight, the model memory for {}", schedule.name,
         schedule.in_flight, model_.in_flight());
  }
  if (schedule.stage != model_.stage()) {
    fail("schedule {}: is of stage {} of {}, the model of stage {} of {}", schedule.name,
         schedule.stage.index, schedule.stage.count, model_.stage().index, model_.stage().count);
  }
  if ((schedule.stage.count > 1) != (stages != nullptr)) {
    fail("schedule {}: has {} stages, the ranks {}", schedule.name, schedule.stage.count,
         stages ? stages->size() : 1);
  }
  if (schedule.recomputes != model_.recomputes()) {
    fail("schedule {}: {} activations, unlike the model", schedule.name,
         schedule.recomputes ? "recomputes" : "keeps");
  }
}

std::vector<Range> StepWalker::begin_step(int64_t step) {
  std::vector<Range> held;
  if (!delayed_) return held;
  delay_step_ = std::max<int64_t>(step - delayed_->after_steps, 0);
  for (const Task& task : segments().front().tasks) {
    if (delay_step_ == 0 || task.kind != Task::Kind::kReady || delayed(task)) continue;
    held.push_back(model_.untied(*model_.blocks()[static_cast<size_t>(task.block)]));
  }
  return held;
}

int StepWalker::free_activations() const {
  if (!delayed_) return 0;
  return static_cast<int>((delay_step_ + 1) % std::ssize(in_flight_));
}

std::optional<Task> StepWalker::delayed(const Task& task) const {
  const int64_t lag = lag_of(schedule(), task);
  if (lag > 0 && lag >= delay_step_) return std::nullopt;
  Task result = task;
  result.micro_batch += static_cast<int>(delay_step_ - lag);
  return result;
}

void StepWalker::begin(const Segment& segment, const bert::TrainingStep& step) {
  bert::TrainingStep of_micro_batch = step;
  of_micro_batch.accumulate = segment.micro_batch > 0 && schedule_.rounds == 1;
  in_flight(segment.micro_batch + delay_step_).micro_batch = model_.begin(of_micro_batch);
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
  const int heads = schedule_.blocks - 1;
  comm::StepTimes result;
  for (size_t i = 0; i < segment.tasks.size(); ++i) {
    const Task& scheduled = segment.tasks[i];
    const std::optional<Task> walked = delayed(scheduled);
    if (scheduled.kind == Task::Kind::kReady) mark_ready(scheduled, !walked, buckets);
    if (!walked || scheduled.kind == Task::Kind::kReady) continue;
    const Task& task = *walked;
    const auto& [activations, micro_batch] = in_flight(task.micro_batch);
    // Gradients that others have had the memory of.
    const bool by_turns = model_.parameters().shards_gradients() && !micro_batch.accumulate;
    if (task.kind == Task::Kind::kUpdate) {
      if (messages_) messages_->wait_for_all();
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
    if (task.kind == Task::Kind::kStash) {
      model_.stash_weights(block, task.micro_batch);
      continue;
    }
    if (messages_) {
      const std::optional<Task> receipt = messages_->wait_for_input_of(task);
      if (times && receipt) {
        times->end({receipt->kind, receipt->block, scheduled.micro_batch}, block.name());
      }
    }
    const bool goes_back = task.kind == Task::Kind::kBackward;
    if (by_turns && (goes_back || task.block == heads)) begin_writing(task.block, buckets);
    if (goes_back) {
      backward(block, task, completes(segment.tasks.subspan(i)), buckets);
    } else {
      block.forward(micro_batch, *activations);
    }
    if (times) times->end(scheduled, block.name());
  }
  return result;
}

void StepWalker::backward(bert::Block& block, const Task& task, bool last,
                          comm::GradientBuckets& buckets) {
  const auto& [activations, micro_batch] = in_flight(task.micro_batch);
  if (lag_of(schedule(), task) > 0) {
    model_.delayed_backward(block, task.micro_batch, micro_batch, *activations);
    return;
  }
  if (!last || !model_.has_half_layers()) {
    block.backward(micro_batch, *activations);
    return;
  }
  const std::function<void()> mark_half = [&] {
    half_ready_ = block.halfway();
    buckets.mark_ready(half_ready_.begin, half_ready_.end);
  };
  bert::MicroBatch told = micro_batch;
  told.on_halfway = &mark_half;
  block.backward(told, *activations);
}

// Where the block's weights are held, its gradients must not count in norms. The tied words' have
// the heads' part still.
void StepWalker::mark_ready(const Task& task, bool is_held, comm::GradientBuckets& buckets) {
  bert::Block& block = *model_.blocks()[static_cast<size_t>(task.block)];
  if (is_held) {
    model_.clear_gradients(model_.untied(block));
  } else {
    block.complete();
  }
  if (task.block == 0 && delay_step_ > 0 && delayed_->averages_tied) model_.halve_word_gradient();
  for (const Range& range : model_.completes(block)) {
    const bool begun = half_ready_.size() > 0 && range.begin == half_ready_.begin;
    buckets.mark_ready(begun ? half_ready_.end : range.begin, range.end);
  }
  half_ready_ = {};
  if (task.block == 0 && model_.late_words()) buckets.mark_rows_ready();
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
