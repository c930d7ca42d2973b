#include "bench/step/synthetic_training.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/text/counts.h"
#include "bert/flops.h"
#include "bert/weights/weights.h"
#include "comm/mpi/end_job_on_error.h"
#include "loadbalance/plans/batch_plan.h"
#include "loadbalance/sample.h"
#include "training/batches/synthetic_batch.h"
#include "training/factories/backend.h"
#include "training/factories/buckets.h"
#include "training/factories/checks.h"
#include "training/factories/data.h"
#include "training/factories/model.h"
#include "training/factories/optimizer.h"
#include "training/factories/schedule.h"

namespace strata::bench {

std::vector<int32_t> micro_batch_lengths(const config::RunConfig& config,
                                         const MicroBatchSequences& sequences,
                                         const bert::BertConfig& bert, uint64_t seed) {
  if (sequences.length > bert.max_positions) {
    fail("sequences of {} are too long: the model has {}", counted(sequences.length, "token"),
         counted(bert.max_positions, "position"));
  }
  if (sequences.length > 0) {
    const int64_t count = sequences.tokens > 0
                              ? std::max<int64_t>(1, sequences.tokens / sequences.length)
                              : config.batch.micro_batch;
    return std::vector(static_cast<size_t>(count), sequences.length);
  }
  const auto longest = static_cast<int32_t>(std::min<int64_t>(bert.max_positions, 512));
  if (sequences.tokens > 0) return training::wikipedia_lengths(sequences.tokens, longest, seed);
  std::vector<int32_t> lengths =
      training::wikipedia_lengths(int64_t{512} * config.batch.micro_batch, longest, seed);
  lengths.resize(static_cast<size_t>(config.batch.micro_batch), longest);
  return lengths;
}

std::vector<double> of_all_ranks(const training::Ranks& ranks, double value) {
  // Each rank fills its own element, so a sum collects them all.
  std::vector<double> all(static_cast<size_t>(ranks.size()));
  all[static_cast<size_t>(ranks.rank())] = value;
  ranks.communicator.all_reduce_sum(all.data(), ranks.size(), device::DType::kF64);
  return all;
}

double slowest(const training::Ranks& ranks, double seconds) {
  const std::vector<double> all = of_all_ranks(ranks, seconds);
  return *std::max_element(all.begin(), all.end());
}

double of_slowest(const training::Ranks& ranks, double seconds, double value) {
  const std::vector<double> all = of_all_ranks(ranks, seconds);
  const auto rank = std::max_element(all.begin(), all.end()) - all.begin();
  return of_all_ranks(ranks, value)[static_cast<size_t>(rank)];
}

int64_t sum_over_ranks(const training::Ranks& ranks, int64_t value) {
  int64_t sum[] = {value};
  ranks.communicator.all_reduce_sum(sum);
  return sum[0];
}

int64_t message_bytes_sent(const training::Ranks& ranks) {
  const comm::Traffic* traffic = ranks.communicator.traffic();
  return traffic ? traffic->message_bytes() : 0;
}

namespace {

// Lengths of a replica's micro-batches in a number of steps, as the configured strategy plans them
// on a data set with MLPerf Wikipedia's lengths, limited to the model's positions.
class PlannedLengths {
 public:
  PlannedLengths(const config::RunConfig& config, const bert::BertConfig& bert, int ranks,
                 int replica)
      : options_(training::batch_plan_options(config, ranks, 1)),
        histogram_(lengths_for(config, bert, loadbalance::global_batch_of(options_))),
        samples_(histogram_),
        batch_plan_(loadbalance::make_batch_plan(options_, histogram_)),
        replica_(static_cast<size_t>(replica)) {}

  // Returns [micro-batches][samples] of the next step.
  std::vector<std::vector<int32_t>> next_step() {
    const auto share = static_cast<size_t>(options_.batch_per_rank);
    const auto mine = batch_plan_->next_step().subspan(replica_ * share, share);
    std::vector<std::vector<int32_t>> micro_batches(static_cast<size_t>(options_.micro_batches));
    for (size_t i = 0; i < mine.size(); ++i) {
      micro_batches[i / (share / micro_batches.size())].push_back(
          static_cast<int32_t>(samples_.length_of(mine[i])));
    }
    return micro_batches;
  }

 private:
  static std::vector<loadbalance::LengthCount> lengths_for(const config::RunConfig& config,
                                                           const bert::BertConfig& bert,
                                                           size_t global_batch) {
    constexpr size_t kFewest = 1 << 16, kSteps = 64;
    const int longest =
        std::min(static_cast<int>(bert.max_positions), config.batch.load_balance.strata.back());
    std::vector<loadbalance::LengthCount> lengths;
    for (auto entry : loadbalance::in_proportion(loadbalance::mlperf_wikipedia_histogram(),
                                                 std::max(kFewest, kSteps * global_batch))) {
      entry.length = std::min(entry.length, longest);
      loadbalance::append(lengths, entry);
    }
    return lengths;
  }

  loadbalance::PlanOptions options_;
  std::vector<loadbalance::LengthCount> histogram_;
  loadbalance::SamplesByLength samples_;
  std::unique_ptr<loadbalance::BatchPlan> batch_plan_;
  size_t replica_;
};

}  // namespace

SyntheticTraining::SyntheticTraining(const config::RunConfig& config,
                                     const MicroBatchSequences& sequences, int batches,
                                     const training::Ranks& ranks,
                                     std::unique_ptr<device::Backend> backend)
    : bert_(training::make_bert_config(config)),
      accumulation_(config.batch.gradient_accumulation_steps),
      ranks_(ranks),
      backend_(backend ? std::move(backend) : training::make_backend(config, ranks.local)) {
  training::check_stages(config, bert_, ranks.size());
  stages_.emplace(training::stage_of_rank(config, ranks.rank()), ranks.communicator);
  const int replica = stages_->replicas().rank(), replicas = stages_->replicas().size();
  bert::BatchCapacity capacity;
  std::optional<PlannedLengths> planned;
  if (sequences.tokens == 0 && sequences.length == 0)
    planned.emplace(config, bert_, ranks.size(), replica);
  for (int batch = 0; batch < batches; ++batch) {
    const auto seed = static_cast<uint64_t>(batch * replicas + replica);
    // Without a plan all micro-batches of all replicas are the same, so that a figure describes the
    // given lengths.
    lengths_.push_back(planned ? planned->next_step()
                               : std::vector(static_cast<size_t>(accumulation_),
                                             micro_batch_lengths(config, sequences, bert_,
                                                                 static_cast<uint64_t>(batch))));
    std::vector<data::PackedBatch>& micro_batches = batches_.emplace_back();
    for (const std::vector<int32_t>& lengths : lengths_.back()) {
      const data::PackedBatch& packed =
          micro_batches.emplace_back(training::synthetic_batch(bert_, lengths, seed));
      capacity =
          training::larger(capacity, {std::ssize(packed.tokens), std::ssize(packed.sample_ids),
                                      std::ssize(packed.masked_ids)});
    }
  }
  model_ = std::make_unique<bert::Model>(
      bert_, *backend_, capacity, training::model_options(config, bert_, ranks.communicator));
  model_->set_weights(bert::random_weights(
      model_->layout(), 1, static_cast<unsigned>(training::thread_count(config, ranks.local))));
  optimizer_ = training::make_optimizer(config, *backend_, *model_, stages_->replicas());
  amax_sync_.emplace(*model_, ranks.communicator);
  times_.emplace(*backend_);
  weight_gatherer_ = training::make_weight_gatherer(config, *backend_, ranks.communicator, *model_);
  work_.emplace(*model_, training::make_schedule(config, bert_, replicas, model_->stage()),
                stages_->stages(), weight_gatherer_.get(),
                training::make_delayed_work(config, bert_, model_->stage()));
  captures_graphs_ = config.device.graphs;
}

std::unique_ptr<comm::GradientBuckets> SyntheticTraining::make_buckets(
    comm::Communicator& communicator, const comm::BucketOptions& options) {
  comm::BucketOptions with_stages = options;
  with_stages.parts = stages_->stages();
  auto buckets = training::make_gradient_buckets(*backend_, communicator, *model_, with_stages,
                                                 *optimizer_, &frozen_);
  executors_[buckets.get()] = std::make_unique<training::StepExecutor>(
      *work_, *buckets,
      captures_graphs_ ? std::make_unique<device::GraphCache>(*backend_) : nullptr);
  return buckets;
}

SyntheticTraining::Step SyntheticTraining::timed_step(size_t batch, comm::GradientBuckets& buckets,
                                                      training::Timeline* timeline) {
  buckets.time_steps(true);
  Step result = run(batch, buckets, &*times_);
  buckets.time_steps(false);
  result.compute = times_->read(timeline);
  if (timeline) executors_.at(&buckets)->add_times(*timeline);
  return result;
}

SyntheticTraining::Step SyntheticTraining::run(size_t batch, comm::GradientBuckets& buckets,
                                               training::ComputeTimes* times) {
  return comm::end_job_on_error(ranks_.communicator,
                                [&] { return train_on(batch, buckets, times); });
}

SyntheticTraining::Step SyntheticTraining::train_on(size_t number, comm::GradientBuckets& buckets,
                                                    training::ComputeTimes* times) {
  int64_t masked = 0, sequences = 0, tokens = 0;
  for (const data::PackedBatch& micro_batch : batches_[number]) {
    masked += std::ssize(micro_batch.masked_ids);
    sequences += std::ssize(micro_batch.sample_ids);
    tokens += std::ssize(micro_batch.tokens);
  }
  const bert::TrainingStep step{.seed = 1,
                                .step = static_cast<uint64_t>(++steps_),
                                .masked_lm_scale = 1.0f / static_cast<float>(masked),
                                .next_sentence_scale = 1.0f / static_cast<float>(sequences),
                                .token_scale = 1.0f / static_cast<float>(tokens)};
  layers_ = std::ranges::count_if(bert::layer_scales(model_->layer_drop(), step.seed, step.step,
                                                     static_cast<size_t>(bert_.layers)),
                                  [](float scale) { return scale > 0; });
  Step result;
  ranks_.communicator.barrier();
  const auto begin = Clock::now();
  constexpr double kLearningRate = 1e-6;
  training::StepExecutor& executor = *executors_.at(&buckets);
  frozen_ = executor.begin_step(steps_);
  optimizer_->begin_step(device::Stream::kCompute, steps_, kLearningRate);
  for (const training::GraphSegment& segment : executor.segments()) {
    if (segment.begins) {
      if (times) times->begin();
      model_->upload(batches_[number][static_cast<size_t>(segment.micro_batch)]);
      work_->begin(segment.micro_batch, step);
    }
    result.reduce = executor.run(segment, times);
  }
  amax_sync_->all_reduce();
  backend_->synchronize(device::Stream::kCompute);
  result.seconds = seconds_since(begin);
  ranks_.communicator.barrier();
  return result;
}

int64_t SyntheticTraining::rounded_tokens(size_t batch) const {
  int64_t tokens = 0;
  for (const std::vector<int32_t>& lengths : lengths_[batch]) {
    const int64_t of_micro_batch = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    tokens += model_->rounding().rounded({of_micro_batch, 0, 0}).tokens;
  }
  return tokens;
}

SyntheticTraining::Work SyntheticTraining::work(size_t batch) const {
  Work work;
  if (model_->stage().index > 0) return work;  // the first stage counts for its replica
  for (size_t i = 0; i < batches_[batch].size(); ++i) {
    const data::PackedBatch& packed = batches_[batch][i];
    work.sequences += std::ssize(packed.sample_ids);
    work.tokens += std::ssize(packed.tokens);
    work.flops +=
        bert::training_flops(bert_, lengths_[batch][i], std::ssize(packed.masked_ids), layers_);
  }
  return work;
}

}  // namespace strata::bench
