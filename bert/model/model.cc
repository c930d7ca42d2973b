#include "bert/model/model.h"

#include <algorithm>
#include <ranges>

#include "base/error.h"
#include "bert/blocks/encoder_layer.h"
#include "bert/blocks/heads/heads.h"
#include "bert/blocks/pre_norm_layer.h"

namespace strata::bert {

Model::Model(const BertConfig& config, device::Backend& backend, const BatchCapacity& capacity,
             const ModelOptions& options)
    : config_(config),
      options_(options),
      backend_(backend),
      layout_(config, options.stage),
      parameters_(backend, layout_, options.sharding ? &*options.sharding : nullptr),
      slots_(backend, capacity, options.rounding, options.in_flight),
      workspace_(backend, config, options.rounding.rounded(capacity), options.float8),
      step_values_(backend, static_cast<size_t>(slots_.count()) * sizeof(StepValues)),
      context_{config_, backend, parameters_, workspace_, options.rounding.rounded(capacity)} {
  if (config.norm == Norm::kNone) {
    backend.require(device::Operation::kStandardizationLoss, backend.compute_dtype());
  }
  if (options.standardization.enabled()) {
    if (config.norm != Norm::kNone)
      fail("the standardization loss replaces LayerNorm: set model.norm to none");
    standardizer_.emplace(backend, config, context_.capacity, options.standardization.axis);
    context_.standardizer = &*standardizer_;
  }
  if (config.norm == Norm::kPre) {
    if (options.float8)
      fail("FP8 does not support LayerNorm before sublayers: set model.norm to post");
    backend.require(device::Operation::kResidualAddForward, backend.compute_dtype());
  } else if (options.layer_drop.enabled()) {
    fail("layer dropping needs LayerNorm before every sublayer: set model.norm to pre");
  }
  if (options.layer_drop.enabled()) layer_scales_.resize(static_cast<size_t>(slots_.count()));
  if (options.float8 && options.recompute)
    fail("FP8 cannot recompute activations: set batch.activations to keep");
  if (options.float8) {
    if (options.stage.count > 1)
      fail("FP8 does not support pipeline stages: set parallel.stages to 1");
    backend.require(device::Operation::kRoundToFloat8, device::DType::kE4M3);
    scales_.emplace(backend, EncoderLayer::kGemms * config.layers);
  }
  make_blocks();
  for (size_t block = 0; block + 1 < blocks_.size(); ++block) {
    if (blocks_[block] && blocks_[block + 1]) blocks_[block]->connect(*blocks_[block + 1]);
  }
  const int64_t before = backend.buffer_bytes();
  for (int i = 0; i < options.in_flight; ++i) activations_.push_back(make_activations());
  activation_bytes_ = backend.buffer_bytes() - before;
  if (!options.delays.empty()) make_stash();
}

int Model::delay_of(const Block& block) const {
  return options_.delays.empty() ? 0 : options_.delays[static_cast<size_t>(block.index())];
}

void Model::make_stash() {
  if (options_.delays.size() != blocks_.size() || options_.recompute || options_.sharding) {
    fail("delayed backward needs a delay for every block, kept activations and unsharded weights");
  }
  std::vector<Range> ranges;
  int versions = 0;
  for (const auto& block : blocks_ | std::views::reverse) {  // reversed, as in the arena
    if (!block || delay_of(*block) == 0) continue;
    if (versions > 0 && versions != delay_of(*block))
      fail("the delayed blocks of a rank must have the same delay");
    versions = delay_of(*block);
    ranges.push_back(untied(*block));
  }
  if (versions > 0) stash_.emplace(backend_, parameters_.compute_weights(), ranges, versions);
}

Range Model::untied(const Block& block) const {
  const Range& all = block.gradients();
  return {&block == embeddings_ ? layout_.position_embeddings.offset : all.begin, all.end};
}

void Model::halve_word_gradient() {
  const device::Tensor words = elements_of(parameters_.gradients(), layout_.words());
  backend_.convert(kCompute, {words, 0.5f, words});
}

void Model::stash_weights(const Block& block, int64_t step) {
  stash_->keep(untied(block), static_cast<int>(step % stash_->versions()));
}

void Model::delayed_backward(Block& block, int64_t step, const MicroBatch& micro_batch,
                             const Activations& activations) {
  parameters_.read_from(&stash_->version(static_cast<int>(step % stash_->versions())));
  block.backward(micro_batch, activations);
  parameters_.read_from(nullptr);
}

void Model::make_blocks() {
  const int blocks = static_cast<int>(layout_.layers.size()) + 2, heads = blocks - 1;
  blocks_.resize(static_cast<size_t>(blocks));
  for (int index = 0; index < blocks; ++index) {
    if (!options_.stage.has_block(index, blocks)) continue;
    std::unique_ptr<Block>& block = blocks_[static_cast<size_t>(index)];
    if (index == 0) {
      auto made = std::make_unique<Embeddings>(context_, layout_, index, options_.word_gradient);
      embeddings_ = made.get();
      block = std::move(made);
      if (sparse_word_gradient()) words_of_step_.resize(static_cast<size_t>(config_.vocab_size));
    } else if (index < heads && config_.norm == Norm::kPre) {
      block =
          std::make_unique<PreNormLayer>(context_, layout_, static_cast<size_t>(index) - 1, index);
    } else if (index < heads) {
      block = std::make_unique<EncoderLayer>(context_, layout_, static_cast<size_t>(index) - 1,
                                             index, scales_ ? &*scales_ : nullptr);
    } else {
      auto made = std::make_unique<Heads>(context_, layout_, index);
      heads_ = made.get();
      block = std::move(made);
    }
  }
}

Model::~Model() = default;

void Model::set_weights(const HostWeights& weights) {
  if (scales_) scales_->reset();
  parameters_.set_weights(weights);
}

std::vector<device::StateTensor> Model::training_state() const {
  return scales_ ? scales_->state() : std::vector<device::StateTensor>();
}

void Model::resume_after(int64_t step) {
  if (scales_) scales_->resume_after(static_cast<uint64_t>(step));
  parameters_.round_weights();
}

Activations Model::make_activations() const {
  const Activations* first = activations_.empty() ? nullptr : &activations_.front();
  BlockMemory memory = options_.recompute && first ? first->blocks()
                                                   : make_block_memory(blocks_, options_.recompute);
  // Buffers that no later step reads are allocated once. Outputs that a delayed block reads are not
  // shared.
  std::vector<bool> borrowed(blocks_.size());
  for (size_t i = 0; i < blocks_.size() && first && !options_.delays.empty(); ++i) {
    if (blocks_[i] && delay_of(*blocks_[i]) == 0) memory[i] = first->blocks()[i];
    const Block* reader = i + 1 < blocks_.size() ? blocks_[i + 1].get() : nullptr;
    borrowed[i] = !reader || delay_of(*reader) == 0;
  }
  return {backend_, std::move(memory), context_.capacity.tokens, config_.hidden_size,
          first,    borrowed};
}

void Model::upload(const data::PackedBatch& batch) {
  slots_.upload(batch);
  if (sparse_word_gradient()) uploaded_tokens_.assign(batch.tokens.begin(), batch.tokens.end());
}

MicroBatch Model::begin(const TrainingStep& step) {
  if (step.accumulate && step_ != step.step) {
    fail("a micro-batch of step {} would be added to the gradients of another step", step.step);
  }
  const DeviceBatch& batch = slots_.take();
  if (!step.accumulate) std::ranges::fill(words_of_step_, 0);
  for (const int32_t token : uploaded_tokens_) words_of_step_[static_cast<size_t>(token)] = 1;
  step_ = step.step;
  const float standardization = static_cast<float>(options_.standardization.weight /
                                                   static_cast<double>(config_.hidden_size));
  const StepValues values{.dropout_key = device::dropout_step_key(step.seed, step.step),
                          .masked_lm_scale = step.masked_lm_scale,
                          .next_sentence_scale = step.next_sentence_scale,
                          .standardization_scale = step.token_scale * standardization,
                          .masked_standardization_scale = step.masked_lm_scale * standardization};
  const int64_t slot = slots_.slot_of(batch);
  auto* const step_values = step_values_.as<StepValues>() + slot;
  backend_.store(kCompute, step_values, &values, sizeof values);
  if (scales_) scales_->begin(step.step);
  MicroBatch micro_batch{&batch, step_values, true, step.accumulate};
  if (options_.layer_drop.enabled()) {
    std::vector<float>& scales = layer_scales_[static_cast<size_t>(slot)];
    scales = layer_scales(options_.layer_drop, step.seed, step.step, layout_.layers.size());
    micro_batch.layer_scales = scales.data();
  }
  return micro_batch;
}

std::vector<Range> Model::completes(const Block& block) const {
  if (!sparse_word_gradient()) return {block.gradients()};
  return layout_.completes(blocks_.size() - 1 - static_cast<size_t>(block.index()), true);
}

std::vector<int64_t> Model::boundaries() const {
  return options_.half_layers ? layout_.boundaries_with_halves() : layout_.boundaries;
}

device::Tensor Model::sparse_word_gradient() const {
  return options_.word_gradient == WordGradient::kSplitForGood && embeddings_
             ? embeddings_->input_words()
             : device::Tensor();
}

Model::Shape Model::shape(const MicroBatch& micro_batch) const {
  const BatchShape batch = micro_batch.batch->shape();
  return {slots_.slot_of(*micro_batch.batch),
          batch.tokens,
          batch.samples,
          batch.masked,
          batch.max_length,
          scales_ && scales_->rounds() ? 1 : 0,
          micro_batch.accumulate ? 1 : 0};
}

void Model::forward(const MicroBatch& micro_batch) {
  for (const auto& block : blocks_) {
    if (block) block->forward(micro_batch, activations());
  }
}

void Model::backward(const MicroBatch& micro_batch, const MarkReady& mark_ready) {
  for (const auto& block : blocks_ | std::views::reverse) {
    if (!block) continue;
    if (options_.recompute && block->recomputes()) block->forward(micro_batch, activations());
    block->backward(micro_batch, activations());
    block->complete();
    if (!mark_ready) continue;
    for (const Range& range : completes(*block)) mark_ready(range.begin, range.end);
  }
}

void Model::train(const data::PackedBatch& batch, const TrainingStep& step,
                  const MarkReady& mark_ready) {
  upload(batch);
  const MicroBatch micro_batch = begin(step);
  forward(micro_batch);
  backward(micro_batch, mark_ready);
}

MicroBatch Model::evaluated(const DeviceBatch& batch) const {
  return {.batch = &batch, .step = step_values_.as<StepValues>()};
}

void Model::evaluate(const DeviceBatch& batch, int in_flight) {
  const MicroBatch micro_batch = evaluated(batch);
  for (const auto& block : blocks_) {
    if (block) block->forward(micro_batch, activations(in_flight));
  }
}

void Model::evaluate(const data::PackedBatch& batch) {
  upload(batch);
  evaluate(slots_.take());
}

int64_t Model::gradient_bytes() const {
  const auto element = static_cast<int64_t>(size_of(backend_.master_dtype()));
  const bool split = options_.word_gradient != WordGradient::kTogether && embeddings_;
  return parameters_.gradient_bytes() + (split ? layout_.word_embeddings.size() : 0) * element;
}

Losses Model::take_losses() { return take_losses(true); }
Losses Model::take_evaluation_losses() { return take_losses(false); }

Losses Model::take_losses(bool training) {
  Losses losses;
  if (heads_) {
    losses = heads_->take_losses(training);
  } else {
    backend_.synchronize(kCompute);
  }
  if (training && standardizer_) losses.standardization = standardizer_->take_totals();
  return losses;
}

}  // namespace strata::bert
