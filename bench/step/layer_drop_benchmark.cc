#include "bench/step/layer_drop_benchmark.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <ranges>
#include <utility>

#include "base/error.h"
#include "base/numbers/statistics.h"
#include "base/timing.h"
#include "bench/step/synthetic_training.h"
#include "bert/flops.h"
#include "bert/weights/weights.h"
#include "training/batches/batch_shapes.h"
#include "training/batches/synthetic_batch.h"
#include "training/factories/backend.h"
#include "training/factories/checks.h"
#include "training/factories/model.h"

namespace strata::bench {
namespace {

constexpr uint64_t kSeed = 1;

// The model, and a micro-batch for every step.
class Encoder {
 public:
  Encoder(const config::RunConfig& config, const LayerDropOptions& options, size_t batches)
      : bert_(training::make_bert_config(config)),
        backend_(training::make_backend(config)),
        stopwatch_(backend_->make_stopwatch()) {
    bert::BatchCapacity capacity;
    for (size_t i = 0; i < batches; ++i) {
      lengths_.push_back(micro_batch_lengths(config, {options.micro_batch_tokens}, bert_, i));
      const data::PackedBatch& batch =
          batches_.emplace_back(training::synthetic_batch(bert_, lengths_.back(), i));
      capacity = training::larger(capacity, {std::ssize(batch.tokens), std::ssize(batch.sample_ids),
                                             std::ssize(batch.masked_ids)});
    }
    model_ = std::make_unique<bert::Model>(bert_, *backend_, capacity,
                                           training::model_options(config, bert_));
    model_->set_weights(bert::random_weights(model_->layout(), kSeed));
  }

  const bert::BertConfig& config() const { return bert_; }
  const bert::LayerDrop& layer_drop() const { return model_->layer_drop(); }
  std::string device() const { return backend_->description(); }
  const std::vector<int32_t>& lengths(size_t batch) const { return lengths_[batch]; }

  // Runs forward and backward of a batch. `scales` has a value for every layer, 0 if it is dropped.
  // Returns the seconds of every layer.
  std::vector<double> train(size_t batch, uint64_t step, const std::vector<float>& scales) {
    const data::PackedBatch& packed = batches_[batch];
    model_->upload(packed);
    bert::MicroBatch micro_batch =
        model_->begin({.seed = kSeed,
                       .step = step,
                       .masked_lm_scale = 1.0f / static_cast<float>(packed.masked_ids.size()),
                       .next_sentence_scale = 1.0f / static_cast<float>(packed.sample_ids.size())});
    micro_batch.layer_scales = scales.data();
    // Marks precede every block and follow the last, in both passes.
    const auto& blocks = model_->blocks();
    for (const auto& block : blocks) {
      stopwatch_->mark(device::Stream::kCompute);
      block->forward(micro_batch, model_->activations());
    }
    stopwatch_->mark(device::Stream::kCompute);
    for (const auto& block : blocks | std::views::reverse) {
      stopwatch_->mark(device::Stream::kCompute);
      if (model_->recomputes() && block->recomputes()) {
        block->forward(micro_batch, model_->activations());
      }
      block->backward(micro_batch, model_->activations());
      block->complete();
    }
    stopwatch_->mark(device::Stream::kCompute);
    const std::vector<int64_t> times = stopwatch_->read();
    const auto seconds = [&](size_t mark) {
      return 1e-9 * static_cast<double>(times[mark + 1] - times[mark]);
    };
    std::vector<double> of_layers(scales.size());
    for (size_t layer = 0; layer < scales.size(); ++layer) {
      const size_t forward = layer + 1;  // the embeddings come before it
      const size_t backward = blocks.size() + 1 + (blocks.size() - 1 - forward);
      of_layers[layer] = seconds(forward) + seconds(backward);
    }
    return of_layers;
  }

 private:
  bert::BertConfig bert_;
  std::unique_ptr<device::Backend> backend_;
  std::unique_ptr<device::Stopwatch> stopwatch_;
  std::vector<std::vector<int32_t>> lengths_;  // [batches][sequences]
  std::vector<data::PackedBatch> batches_;
  std::unique_ptr<bert::Model> model_;
};

// Returns the middle of part `n` out of `count` equal parts of training.
uint64_t step_of(int64_t training_steps, size_t n, size_t count) {
  return 1 + static_cast<uint64_t>(training_steps) * (2 * n + 1) / (2 * count);
}

}  // namespace

double LayerDropBenchmark::flops_share() const {
  double all = 0, kept = 0;
  for (const LayerDropStep& step : steps) {
    all += step.all_flops;
    kept += step.kept_flops;
  }
  return kept / all;
}

double LayerDropBenchmark::time_share() const {
  double all = 0, kept = 0;
  for (const LayerDropStep& step : steps) {
    all += step.all_seconds;
    kept += step.kept_seconds;
  }
  return kept / all;
}

Quartiles LayerDropBenchmark::time_over_flops() const {
  std::vector<double> ratios;
  for (const LayerDropStep& step : steps) {
    ratios.push_back(step.time_share() / step.flops_share());
  }
  return quartiles_of(std::move(ratios));
}

LayerDropBenchmark benchmark_layer_drop(const config::RunConfig& config,
                                        const LayerDropOptions& options) {
  if (config.layer_drop.theta >= 1) {
    fail(
        "layer_drop.theta is 1: no layer is dropped; use --set model.norm=pre --set "
        "layer_drop.theta=0.5");
  }
  training::check_one_stage(config);
  constexpr size_t kUnmeasured = 2;
  const auto count = static_cast<size_t>(options.steps);
  Encoder encoder(config, options, count);
  const auto layers = static_cast<size_t>(encoder.config().layers);
  const int64_t training_steps = config.lr_schedule.training_steps;
  LayerDropBenchmark result{
      .device = encoder.device(),
      .layers = static_cast<int>(layers),
      .training_steps = training_steps,
      .theta = encoder.layer_drop().theta,
      .gamma = encoder.layer_drop().gamma,
      .expected_share = bert::expected_share(encoder.layer_drop(),
                                             static_cast<uint64_t>(training_steps), layers)};
  const std::vector<float> all(layers, 1.0f);
  std::vector<double> kept_layers, dropped_layers;
  for (size_t i = 0; i < count + kUnmeasured; ++i) {
    const bool measured = i >= kUnmeasured;
    const size_t batch = i % count, number = measured ? i - kUnmeasured : 0;
    LayerDropStep step{.step = step_of(training_steps, number, count)};
    const std::vector<float> scales =
        bert::layer_scales(encoder.layer_drop(), kSeed, step.step, layers);
    std::vector<double> whole, left;
    // The two take turns to be first.
    if (i % 2 == 0) whole = encoder.train(batch, step.step, all);
    left = encoder.train(batch, step.step, scales);
    if (i % 2 == 1) whole = encoder.train(batch, step.step, all);
    if (options.progress) options.progress(i + 1, count + kUnmeasured);
    if (!measured) continue;
    for (size_t layer = 0; layer < layers; ++layer) {
      const bool kept = scales[layer] > 0;
      step.kept += kept;
      (kept ? kept_layers : dropped_layers).push_back(left[layer]);
    }
    const std::vector<int32_t>& lengths = encoder.lengths(batch);
    step.all_flops = bert::training_flops(encoder.config(), lengths, 0);
    step.kept_flops = bert::training_flops(encoder.config(), lengths, 0, step.kept);
    step.all_seconds = sum(whole);
    step.kept_seconds = sum(left);
    result.tokens += std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    result.steps.push_back(step);
  }
  result.tokens /= options.steps;
  result.kept_layer = median(kept_layers);
  result.dropped_layer = dropped_layers.empty() ? 0 : median(dropped_layers);
  return result;
}

}  // namespace strata::bench
