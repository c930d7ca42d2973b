#include "bench/synthetic_training.h"

#include <algorithm>

#include "bert/flops.h"
#include "training/batches/synthetic_batch.h"
#include "training/options.h"

namespace strata::bench {

std::vector<int32_t> micro_batch_lengths(const config::RunConfig& config,
                                         int64_t micro_batch_tokens, const bert::BertConfig& bert,
                                         uint64_t seed) {
  const auto longest = static_cast<int32_t>(std::min<int64_t>(bert.max_positions, 512));
  if (micro_batch_tokens > 0) return training::wikipedia_lengths(micro_batch_tokens, longest, seed);
  std::vector<int32_t> lengths =
      training::wikipedia_lengths(int64_t{512} * config.batch.micro_batch, longest, seed);
  lengths.resize(static_cast<size_t>(config.batch.micro_batch), longest);
  return lengths;
}

SyntheticTraining::SyntheticTraining(const config::RunConfig& config, int64_t micro_batch_tokens,
                                     int batches, const training::Ranks& ranks)
    : bert_(training::make_bert_config(config)),
      accumulation_(config.batch.gradient_accumulation_steps),
      ranks_(ranks),
      backend_(training::make_backend(config, ranks.local)) {
  bert::BatchCapacity capacity;
  for (int batch = 0; batch < batches; ++batch) {
    const auto seed = static_cast<uint64_t>(batch * ranks.size() + ranks.rank());
    lengths_.push_back(micro_batch_lengths(config, micro_batch_tokens, bert_, seed));
    batches_.push_back(training::synthetic_batch(bert_, lengths_.back(), seed));
    const data::PackedBatch& packed = batches_.back();
    capacity = training::larger(capacity, {std::ssize(packed.tokens), std::ssize(packed.sample_ids),
                                           std::ssize(packed.masked_ids)});
  }
  model_ = std::make_unique<bert::Model>(bert_, *backend_, capacity,
                                         training::model_options(config, bert_));
  model_->set_weights(bert::random_weights(model_->layout(), 1));
  optimizer_ = training::make_optimizer(config, *backend_, *model_, ranks.communicator);
  amax_agreement_.emplace(*model_, ranks.communicator);
  times_.emplace(*backend_);
  walker_.emplace(*model_,
                  training::make_schedule(config, static_cast<int>(model_->blocks().size())),
                  training::make_graph_cache(config, *backend_));
}

std::unique_ptr<comm::GradientBuckets> SyntheticTraining::make_buckets(
    comm::Communicator& communicator, const comm::BucketOptions& options) {
  return training::make_gradient_buckets(*backend_, communicator, *model_, options, *optimizer_);
}

SyntheticTraining::Step SyntheticTraining::timed_step(size_t batch, comm::GradientBuckets& buckets,
                                                      training::Timeline* timeline) {
  buckets.time_steps(true);
  Step result = run(batch, buckets, &*times_);
  buckets.time_steps(false);
  result.compute = times_->read(timeline);
  if (timeline) timeline->add(buckets.events());
  return result;
}

// `times` null: not timed.
SyntheticTraining::Step SyntheticTraining::run(size_t number, comm::GradientBuckets& buckets,
                                               training::ComputeTimes* times) {
  const data::PackedBatch& batch = batches_[number];
  const bert::TrainingStep step{
      .seed = 1,
      .step = static_cast<uint64_t>(++steps_),
      .masked_lm_scale = 1.0f / static_cast<float>(std::ssize(batch.masked_ids) * accumulation_),
      .next_sentence_scale =
          1.0f / static_cast<float>(std::ssize(batch.sample_ids) * accumulation_)};
  Step result;
  ranks_.communicator.barrier();
  const auto begin = Clock::now();
  constexpr double kLearningRate = 1e-6;
  optimizer_->begin_step(device::Stream::kCompute, steps_, kLearningRate);
  for (const training::Segment& segment : walker_->segments()) {
    if (segment.begins) {
      if (times) times->begin();
      model_->upload(batch);
      walker_->begin(segment, step);
    }
    result.reduce = walker_->run(segment, buckets, times);
  }
  amax_agreement_->agree();
  backend_->synchronize(device::Stream::kCompute);
  result.seconds = seconds_since(begin);
  ranks_.communicator.barrier();
  return result;
}

double SyntheticTraining::flops(size_t batch) const {
  return static_cast<double>(accumulation_) *
         bert::training_flops(bert_, lengths_[batch], std::ssize(batches_[batch].masked_ids));
}

}  // namespace strata::bench
