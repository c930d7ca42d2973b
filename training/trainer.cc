#include "training/trainer.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/timing.h"
#include "training/losses.h"

namespace strata::training {
namespace {

comm::ClipMode clip_mode(config::ClipMode mode) {
  switch (mode) {
    case config::ClipMode::kNone:
      return comm::ClipMode::kNone;
    case config::ClipMode::kAfterAllReduce:
      return comm::ClipMode::kAfterAllReduce;
    case config::ClipMode::kBeforeAllReduce:
      return comm::ClipMode::kBeforeAllReduce;
    case config::ClipMode::kBucketBeforeAllReduce:
      return comm::ClipMode::kBucketBeforeAllReduce;
  }
  return comm::ClipMode::kNone;
}

// Whether ranks share out the optimizer's state.
bool is_sharded(const config::RunConfig& config, const comm::Communicator& communicator) {
  return config.optimizer.sharded && communicator.size() > 1;
}

// What this rank updates where they do.
std::vector<optim::Range> own_slices(const config::RunConfig& config, const bert::Model& model,
                                     const comm::Communicator& communicator) {
  std::vector<optim::Range> slices;
  for (const auto& bucket : make_buckets(model.layout().boundaries, bucket_options(config))) {
    const comm::BucketRange slice = own_slice(bucket, communicator);
    slices.push_back({slice.begin, slice.end});
  }
  return slices;
}

optim::UpdateOptions update_options(const comm::ReducedGradients& reduced) {
  return {.gradient_scale = reduced.gradient_scale,
          .norm_squared = reduced.norm_squared,
          .max_norm = reduced.max_norm};
}

// What train_micro_batch does where nothing is replayed.
comm::StepTimes issue_micro_batch(bert::Model& model, comm::GradientBuckets& buckets, bool last,
                                  ComputeTimes* times) {
  if (times) times->begin_forward();
  model.forward();
  if (times) times->begin_backward();
  model.backward([&](int64_t from, int64_t to) {
    if (times) times->group_final(to);
    if (last) buckets.gradients_final(from, to);
  });
  return last ? buckets.finish_step() : comm::StepTimes();
}

device::Recordings::Key recording_key(const bert::Model& model, bool last) {
  const bert::Model::Shape shape = model.shape();
  device::Recordings::Key key(shape.begin(), shape.end());
  key.push_back(last ? 1 : 0);
  return key;
}

}  // namespace

loadbalance::PlanOptions plan_options(const config::RunConfig& config, int ranks, uint64_t seed) {
  const config::LoadBalanceConfig& balance = config.batch.load_balance;
  return {.strategy = name_of(balance.strategy),
          .ranks = ranks,
          .batch_per_rank = config.batch.micro_batch * config.batch.gradient_accumulation_steps,
          .seed = seed,
          .strata_bounds = balance.strata,
          .group_ranks = balance.group_ranks.value_or(0),
          .cost = balance.cost};
}

optim::ScheduleOptions schedule_options(const config::ScheduleConfig& config,
                                        double base_learning_rate) {
  return {.schedule = config.name == config::ScheduleKind::kPolynomialDecay
                          ? optim::Schedule::kReference
                          : optim::Schedule::kPublished,
          .base_learning_rate = base_learning_rate,
          .end_learning_rate = config.end_lr,
          .start_warmup_step = config.start_warmup_step,
          .warmup_steps = config.warmup_steps,
          .total_steps = config.training_steps,
          .power = config.power};
}

comm::BucketOptions bucket_options(const config::RunConfig& config) {
  return {.clip = clip_mode(config.clip.mode),
          .max_norm = static_cast<float>(config.clip.max_norm),
          .reduce_dtype = config.reduce.dtype == config::ReduceDType::kBf16 ? device::DType::kBF16
                                                                            : device::DType::kF32,
          .bucket_bytes = static_cast<int64_t>(config.reduce.bucket_megabytes * 1e6)};
}

comm::BucketOptions bucket_options(const config::RunConfig& config, const bert::Model& model) {
  comm::BucketOptions options = bucket_options(config);
  if (config.optimizer.sharded) options.gathered_weights = model.compute_weights();
  return options;
}

std::unique_ptr<device::Recordings> make_recordings(const config::RunConfig& config,
                                                    device::Backend& backend) {
  return config.device.graphs ? std::make_unique<device::Recordings>(backend) : nullptr;
}

comm::StepTimes train_micro_batch(bert::Model& model, comm::GradientBuckets& buckets, bool last,
                                  device::Recordings* recordings, ComputeTimes* times) {
  if (!recordings) return issue_micro_batch(model, buckets, last, times);
  comm::StepTimes reduce;
  recordings->run(recording_key(model, last),
                  [&] { reduce = issue_micro_batch(model, buckets, last, nullptr); });
  return reduce;
}

bool keep_micro_batch(bert::Model& model, comm::GradientBuckets& buckets, bool last,
                      device::Recordings& recordings) {
  return recordings.keep(recording_key(model, last),
                         [&] { issue_micro_batch(model, buckets, last, nullptr); });
}

std::unique_ptr<optim::Optimizer> make_optimizer(const config::OptimizerConfig& config,
                                                 device::Backend& backend,
                                                 const bert::ParameterLayout& layout,
                                                 const optim::ParameterArena& arena,
                                                 std::span<const optim::Range> owned) {
  std::vector<optim::Segment> segments;
  for (const bert::ParameterSegment& segment : layout.segments()) {
    segments.push_back({segment.offset, segment.size, segment.decay});
  }
  const optim::AdamOptions options{config.beta1, config.beta2, config.epsilon, config.weight_decay};
  if (config.name == config::OptimizerKind::kLamb) {
    return optim::make_lamb(backend, arena, segments, options, owned);
  }
  return optim::make_adam(backend, arena, segments, options, owned);
}

std::unique_ptr<optim::Optimizer> make_optimizer(const config::RunConfig& config,
                                                 device::Backend& backend, const bert::Model& model,
                                                 const comm::Communicator& communicator) {
  optim::ParameterArena arena{model.master_weights(), {}, model.gradients()};
  if (backend.compute_dtype() != backend.master_dtype())
    arena.compute_weights = model.compute_weights();
  std::vector<optim::Range> owned;
  if (is_sharded(config, communicator)) owned = own_slices(config, model, communicator);
  return make_optimizer(config.optimizer, backend, model.layout(), arena, owned);
}

std::unique_ptr<comm::GradientBuckets> make_gradient_buckets(device::Backend& backend,
                                                             comm::Communicator& communicator,
                                                             const bert::Model& model,
                                                             const comm::BucketOptions& options,
                                                             optim::Optimizer& optimizer) {
  const auto update = [&optimizer](const comm::ReducedGradients& reduced) {
    optimizer.update(reduced.stream, reduced.begin, reduced.end, update_options(reduced));
  };
  const auto finish = [&optimizer](const comm::ReducedGradients& reduced) {
    optimizer.finish(reduced.stream, reduced.begin, reduced.end);
  };
  return std::make_unique<comm::GradientBuckets>(
      backend, communicator, model.gradients(), model.layout().boundaries, options, update,
      comm::SecondHalf{optimizer.partial_sums(), finish});
}

Trainer::Trainer(const config::RunConfig& config, device::Backend& backend, bert::Model& model,
                 comm::Communicator& communicator, const data::InstanceSource& train, uint64_t seed)
    : model_(model),
      communicator_(communicator),
      train_(train),
      seed_(seed),
      micro_batch_(config.batch.micro_batch),
      accumulation_(config.batch.gradient_accumulation_steps),
      global_batch_(global_batch_size(config, communicator.size())),
      loss_interval_(config.log.loss_interval_steps),
      schedule_(schedule_options(config.schedule, config.optimizer.lr)),
      plan_(plan_options(config, communicator.size(), seed)),
      loader_plan_(loadbalance::make_batch_plan(plan_, train.lengths())),
      step_plan_(loadbalance::make_batch_plan(plan_, train.lengths())),
      sharded_(is_sharded(config, communicator)),
      optimizer_(make_optimizer(config, backend, model, communicator)),
      float8_agreement_(model, communicator),
      buckets_(make_gradient_buckets(backend, communicator, model, bucket_options(config, model),
                                     *optimizer_)),
      recordings_(make_recordings(config, backend)),
      loader_(train, [this](std::vector<uint32_t>& samples) { return next_samples(samples); }) {
  optim::check_schedule(schedule_);
}

void Trainer::rehearse(const data::PackedBatch& batch, bert::TrainingStep scale) {
  optimizer_->begin_step(device::Stream::kCompute, 1, 0.0);
  for (int64_t micro = 0; micro < accumulation_; ++micro) {
    model_.upload(batch);
    scale.accumulate = micro > 0;
    model_.begin(scale);
    train_micro_batch(model_, *buckets_, micro + 1 == accumulation_, nullptr, nullptr);
  }
  float8_agreement_.agree();
}

bool Trainer::keep(const data::PackedBatch& batch, bert::TrainingStep scale) {
  // A step's first micro-batch, one in the middle and its last, as far as these are different.
  const int64_t last = accumulation_ - 1;
  bool kept = true;
  for (const int64_t micro : std::set<int64_t>{0, std::min<int64_t>(1, last), last}) {
    for (int slot = 0; slot < bert::Model::kSlots; ++slot) {
      model_.upload(batch);
      scale.accumulate = micro > 0;
      model_.begin(scale);
      kept &= keep_micro_batch(model_, *buckets_, micro == last, *recordings_);
    }
  }
  return kept;
}

void Trainer::visit_micro_batches(
    int64_t steps,
    const std::function<void(int64_t step, std::span<const uint32_t> samples)>& visit) const {
  if (steps == 0) return;
  const auto plan = loadbalance::make_batch_plan(plan_, train_.lengths());
  const auto micro_batch = static_cast<size_t>(micro_batch_);
  for (int64_t step = 1; step <= steps; ++step) {
    const std::span<const uint32_t> mine = own_share(plan->next_step());
    for (size_t first = 0; first < mine.size(); first += micro_batch) {
      visit(step, mine.subspan(first, micro_batch));
    }
  }
}

void Trainer::start() {
  loader_.start();
  upload_next();
}

double Trainer::upload_next() {
  const auto begin = Clock::now();
  loader_.next(batch_);
  const double waited = seconds_since(begin);
  model_.upload(batch_);
  return waited;
}

StepResult Trainer::step() {
  const auto begin = Clock::now();
  ++step_;
  StepResult result{.step = step_, .learning_rate = optim::learning_rate(schedule_, step_)};
  const GlobalBatch global = next_global_batch();
  // Ranks' gradients are averaged, so each is scaled up to make the average the gradient of the
  // global mean.
  const auto ranks = static_cast<float>(communicator_.size());
  bert::TrainingStep scale{
      .seed = seed_,
      .step = static_cast<uint64_t>(step_),
      .masked_lm_scale = ranks / static_cast<float>(std::max<int64_t>(global.masked, 1)),
      .next_sentence_scale = ranks / static_cast<float>(global.sequences)};
  optimizer_->begin_step(device::Stream::kCompute, step_, result.learning_rate);
  for (int64_t micro = 0; micro < accumulation_; ++micro) {
    result.tokens += std::ssize(batch_.tokens);
    scale.accumulate = micro > 0;
    model_.begin(scale);
    result.reduce = train_micro_batch(model_, *buckets_, micro + 1 == accumulation_,
                                      recordings_.get(), times_.get());
    // The device still works on this one while the next is fetched, unless someone wants to know.
    result.data_seconds += upload_next();
  }
  float8_agreement_.agree();
  if (step_ % loss_interval_ == 0) {
    result.gradient_norm = buckets_->gradient_norm();
    result.losses = all_reduce(communicator_, model_.take_losses());
  }
  result.seconds = seconds_since(begin);
  if (times_) times_->read(timeline_);
  if (timeline_) {
    timeline_->add(buckets_->events());
    timeline_->add(Lane::kStep, fmt::format("step {}", step_), begin, Clock::now());
  }
  return result;
}

void Trainer::record(Timeline* timeline) {
  if (timeline == timeline_) return;
  timeline_ = timeline;
  const bool timed = timeline && !recordings_;
  times_ = timed ? std::make_unique<ComputeTimes>(model_.backend(), model_.layout()) : nullptr;
  buckets_->time_steps(timed);
}

void Trainer::gather_weights() {
  if (!sharded_) return;
  const device::Tensor weights = model_.master_weights();
  const auto collectives =
      comm::make_staged_communicator(communicator_, model_.backend(), device::Stream::kCompute);
  for (const comm::BucketRange& bucket : buckets_->buckets()) {
    char* begin = weights.as<char>() + bucket.begin * static_cast<int64_t>(size_of(weights.dtype));
    collectives->all_gather(begin, bucket.size(), weights.dtype);
  }
}

// Runs on the loader's thread.
bool Trainer::next_samples(std::vector<uint32_t>& samples) {
  if (loader_position_ == loader_samples_.size()) {
    const std::span<const uint32_t> mine = own_share(loader_plan_->next_step());
    loader_samples_.assign(mine.begin(), mine.end());
    loader_position_ = 0;
  }
  const auto first = loader_samples_.begin() + static_cast<int64_t>(loader_position_);
  samples.assign(first, first + micro_batch_);
  loader_position_ += static_cast<size_t>(micro_batch_);
  return true;
}

std::span<const uint32_t> Trainer::own_share(std::span<const uint32_t> global) const {
  const auto share = static_cast<size_t>(micro_batch_ * accumulation_);
  return global.subspan(static_cast<size_t>(communicator_.rank()) * share, share);
}

Trainer::GlobalBatch Trainer::next_global_batch() {
  GlobalBatch global;
  for (const uint32_t sample : step_plan_->next_step()) {
    global.masked += train_.masked_counts()[sample];
    ++global.sequences;
  }
  return global;
}

}  // namespace strata::training
