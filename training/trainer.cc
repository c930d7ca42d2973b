#include "training/trainer.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/timing.h"
#include "training/factories/backend.h"
#include "training/factories/buckets.h"
#include "training/factories/data.h"
#include "training/factories/optimizer.h"
#include "training/factories/schedule.h"
#include "training/factories/sharding.h"
#include "training/sync/losses.h"

namespace strata::training {

Trainer::Trainer(const config::RunConfig& config, device::Backend& backend, bert::Model& model,
                 comm::Communicator& communicator, uint64_t seed)
    : model_(model),
      communicator_(communicator),
      ranks_(model.stage(), communicator),
      seed_(seed),
      micro_batch_(config.batch.micro_batch),
      accumulation_(config.batch.gradient_accumulation_steps),
      global_batch_(global_batch_size(config, communicator.size())),
      loss_interval_(config.log.loss_interval_steps),
      lr_schedule_(lr_schedule(config.lr_schedule, config.optimizer.lr)),
      batch_plan_options_(batch_plan_options(config, communicator.size(), seed)),
      sharded_(shards_state(config, ranks_.replicas().size())),
      optimizer_(make_optimizer(config, backend, model, ranks_.replicas())),
      loss_scale_(make_loss_scale(config)),
      scale_growth_steps_(config.loss_scale.growth_steps),
      amax_sync_(model, communicator),
      buckets_(make_gradient_buckets(backend, ranks_.replicas(), model,
                                     bucket_options(config, model, ranks_.stages()), *optimizer_,
                                     &frozen_)),
      weight_gatherer_(make_weight_gatherer(config, backend, communicator, model)),
      work_(model, make_schedule(config, model.config(), ranks_.replicas().size(), model.stage()),
            ranks_.stages(), weight_gatherer_.get(),
            make_delayed_work(config, model.config(), model.stage())),
      executor_(work_, *buckets_, make_graph_cache(config, backend)) {
  optim::check_lr_schedule(lr_schedule_);
}

StepResult Trainer::step() {
  const auto begin = Clock::now();
  ++step_;
  StepResult result{.step = step_, .learning_rate = optim::learning_rate(lr_schedule_, step_)};
  if (!uploaded_first_) result.data_seconds = upload_next();
  uploaded_first_ = true;
  const bert::TrainingStep step = next_global_batch(result);
  result.dropped_layers = dropped_layers();
  frozen_ = executor_.begin_step(step_);
  if (loss_scale_) {
    result.loss_scale = loss_scale_->scale;
    buckets_->scale_loss(loss_scale_->scale);
  }
  // The optimizer does not count skipped steps.
  const int64_t skipped = loss_scale_ ? loss_scale_->skipped_steps : 0;
  optimizer_->begin_step(device::Stream::kCompute, step_ - skipped, result.learning_rate);
  for (const GraphSegment& segment : executor_.segments()) {
    if (segment.begins) {
      result.tokens += std::ssize(batch_.tokens);
      work_.begin(segment.micro_batch, step);
      if (times_) times_->begin();
    }
    result.reduce = executor_.run(segment, times_.get());
    // The device still works on this micro-batch while the next is fetched, unless it is timed.
    if (segment.begins) result.data_seconds += upload_next();
  }
  amax_sync_.all_reduce();
  result.skipped = buckets_->overflowed();
  if (loss_scale_) loss_scale_->after_step(result.skipped, scale_growth_steps_);
  if (step_ % loss_interval_ == 0) {
    if (!result.skipped) result.gradient_norm = buckets_->gradient_norm();
    result.losses = all_reduce(communicator_, model_.take_losses());
  }
  result.seconds = seconds_since(begin);
  if (times_) times_->read(timeline_);
  if (timeline_) {
    executor_.add_times(*timeline_);
    timeline_->add_step(fmt::format("step {}", step_), begin, Clock::now());
  }
  return result;
}

std::optional<std::vector<int64_t>> Trainer::dropped_layers() const {
  const bert::LayerDrop& drop = model_.layer_drop();
  if (!drop.enabled()) return std::nullopt;
  const auto scales =
      bert::layer_scales(drop, seed_, static_cast<uint64_t>(step_), model_.config().layers);
  std::vector<int64_t> dropped;
  for (size_t layer = 0; layer < scales.size(); ++layer) {
    if (scales[layer] == 0) dropped.push_back(static_cast<int64_t>(layer));
  }
  return dropped;
}

// The reduction averages replicas' gradients, so each replica scales its loss up to get the
// gradient of the global mean. The loss scale comes on top; the buckets divide it out again.
bert::TrainingStep Trainer::next_global_batch(StepResult& result) {
  // planned_ is not empty, because the step's first micro-batch has come from the loader.
  GlobalBatch planned;
  {
    const std::lock_guard lock(planned_mutex_);
    planned = planned_.front();
    planned_.pop_front();
  }
  result.imbalance = planned.imbalance;
  result.global_tokens = planned.tokens;
  const float scale = loss_scale_ ? loss_scale_->scale : 1.0f;
  const float replicas = scale * static_cast<float>(ranks_.replicas().size());
  return {.seed = seed_,
          .step = static_cast<uint64_t>(step_),
          .masked_lm_scale = replicas / static_cast<float>(std::max<int64_t>(planned.masked, 1)),
          .next_sentence_scale = replicas / static_cast<float>(planned.sequences),
          .token_scale = replicas / static_cast<float>(planned.tokens)};
}

Trainer::GlobalBatch Trainer::plan_step() {
  GlobalBatch batch;
  double cost = 0, cost_of_rank = 0, most = 0;
  const std::span<const uint32_t> global = batch_plan_->next_step();
  for (const uint32_t sorted_index : global) {
    const data::SampleClass& alike = train_->index().classes().of(sorted_index);
    batch.masked += alike.masked;
    batch.tokens += alike.length;
    if (batch.sequences % batch_plan_options_.batch_per_rank == 0) cost_of_rank = 0;
    cost_of_rank += batch_plan_options_.cost.cost(alike.length);
    most = std::max(most, cost_of_rank);
    cost += batch_plan_options_.cost.cost(alike.length);
    ++batch.sequences;
  }
  batch.imbalance = most * batch_plan_options_.ranks / cost;
  const std::span<const uint32_t> mine = local_samples(global);
  loader_samples_.assign(mine.begin(), mine.end());
  return batch;
}

TrainingState Trainer::state() {
  const bert::ParameterLayout whole(model_.config());
  TrainingState state{
      .step = step_,
      .parameters = whole.size,
      .plan = {batch_plan_options_.ranks, batch_plan_options_.batch_per_rank,
               batch_plan_options_.micro_batches},
      .loss_scale = loss_scale_,
  };
  // A stage's elements are named by their positions in the whole model.
  std::vector<Range> shards;
  for (const Range& bucket : buckets_->buckets()) {
    const Range shard = comm::local_shard(bucket, ranks_.replicas());
    for (const Range& place : places_in_whole(model_.layout(), shard, whole)) {
      shards.push_back(place);
    }
  }
  const std::vector<Range> all = places_in_whole(model_.layout(), {0, model_.layout().size}, whole);
  const bool shards_weights = model_.parameters().shards_weights();
  state.arrays.push_back(
      {"weights", model_.master_weights(), shards_weights ? shards : all, shards});
  for (const device::StateTensor& moment : optimizer_->state()) {
    state.arrays.push_back({moment.name, moment.tensor, sharded_ ? shards : all, shards});
  }
  for (const device::StateTensor& same : model_.training_state()) {  // the same on all ranks
    const std::vector<Range> elements{{0, same.tensor.size()}};
    state.arrays.push_back({same.name, same.tensor, elements,
                            communicator_.rank() == 0 ? elements : std::vector<Range>()});
  }
  return state;
}

void Trainer::resume_after(int64_t step, const BatchPlanShape& plan,
                           const std::optional<optim::LossScale>& loss_scale) {
  step_ = step;
  loss_scale_ = loss_scale;
  batch_plan_options_.ranks = plan.ranks;
  batch_plan_options_.batch_per_rank = plan.batch_per_rank;
  batch_plan_options_.micro_batches = plan.micro_batches;
  model_.resume_after(step);
}

void Trainer::start(const data::InstanceSource& train) {
  train_ = &train;
  const auto lengths = histogram_of(train.index().classes());
  batch_plan_ = loadbalance::make_batch_plan(batch_plan_options_, lengths);
  for (int64_t step = 0; step < step_; ++step) {  // steps before a resumed run
    batch_plan_->next_step();
  }
  loader_ = std::make_unique<data::BatchLoader>(
      train, [this](std::vector<uint32_t>& samples) { return next_samples(samples); });
  loader_->start();
}

double Trainer::upload_next() {
  const auto begin = Clock::now();
  loader_->next(batch_);
  const double waited = seconds_since(begin);
  model_.upload(batch_);
  return waited;
}

void Trainer::record(Timeline* timeline) {
  if (timeline == timeline_) return;
  timeline_ = timeline;
  const bool timed = timeline && !captures_graphs();
  times_ = timed ? std::make_unique<ComputeTimes>(model_.backend()) : nullptr;
  buckets_->time_steps(timed);
}

bert::HostWeights Trainer::weights() {
  bert::HostWeights weights = model_.weights();
  for (const Range& bucket : buckets_->buckets()) {
    if (!sharded_) break;
    ranks_.replicas().all_gather(weights.data() + bucket.begin, bucket.size(), device::DType::kF32);
  }
  return ranks_.stages() ? gather_stages(model_, weights, *ranks_.stages()) : weights;
}

void Trainer::dry_run_step(const data::PackedBatch& batch, const bert::TrainingStep& scale) {
  optimizer_->begin_step(device::Stream::kCompute, 1, 0.0);
  executor_.begin_step(0);
  for (const GraphSegment& segment : executor_.segments()) {
    if (segment.begins) {
      model_.upload(batch);
      work_.begin(segment.micro_batch, scale);
    }
    executor_.issue(segment);
  }
  amax_sync_.all_reduce();
}

bool Trainer::capture_graphs(const data::PackedBatch& batch, const bert::TrainingStep& scale) {
  executor_.begin_step(0);
  // The first micro-batches and the last one cover all kinds of work in a step.
  const auto last = static_cast<int>(accumulation_ - 1);
  bool captured = true;
  std::set<int> micro_batches{last};
  for (int i = 0; i < 2 * work_.schedule().in_flight; ++i) micro_batches.insert(std::min(i, last));
  for (const int micro_batch : micro_batches) {
    for (int slot = 0; slot < model_.slots(); ++slot) {
      for (const GraphSegment& segment : executor_.segments()) {
        if (segment.micro_batch != micro_batch) continue;
        if (segment.begins) {
          model_.upload(batch);
          work_.begin(segment.micro_batch, scale);
        }
        captured &= executor_.capture(segment);
      }
    }
  }
  return captured;
}

void Trainer::visit_micro_batches(
    const data::SampleClasses& classes, int64_t steps,
    const std::function<void(int64_t step, std::span<const SampleShape> samples)>& visit) const {
  if (steps == 0) return;
  const auto plan = loadbalance::make_batch_plan(batch_plan_options_, histogram_of(classes));
  std::vector<SampleShape> shapes;
  for (int64_t step = 1; step <= steps; ++step) {
    for (const uint32_t sorted_index : local_samples(plan->next_step())) {
      shapes.push_back(shape_of(classes.of(sorted_index)));
      if (std::ssize(shapes) < micro_batch_) continue;
      visit(step, shapes);
      shapes.clear();
    }
  }
}

// Runs on the loader's thread.
bool Trainer::next_samples(std::vector<uint32_t>& samples) {
  if (loader_position_ == loader_samples_.size()) {
    const GlobalBatch planned = plan_step();
    loader_position_ = 0;
    const std::lock_guard lock(planned_mutex_);
    planned_.push_back(planned);
  }
  samples.clear();
  for (int64_t i = 0; i < micro_batch_; ++i) {
    samples.push_back(train_->index().sample_at(loader_samples_[loader_position_++]));
  }
  return true;
}

std::span<const uint32_t> Trainer::local_samples(std::span<const uint32_t> global) const {
  const auto share = static_cast<size_t>(micro_batch_ * accumulation_);
  return global.subspan(static_cast<size_t>(ranks_.replicas().rank()) * share, share);
}

}  // namespace strata::training
