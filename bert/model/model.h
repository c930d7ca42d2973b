// BERT for pretraining, as a list of blocks: masked-LM and next-sentence losses and all gradients,
// over packed batches.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bert/batches/batch_slots.h"
#include "bert/batches/micro_batch.h"
#include "bert/blocks/activations.h"
#include "bert/blocks/block.h"
#include "bert/blocks/embeddings.h"
#include "bert/blocks/layer_drop.h"
#include "bert/blocks/standardizer.h"
#include "bert/blocks/workspace.h"
#include "bert/config.h"
#include "bert/float8_scales.h"
#include "bert/losses.h"
#include "bert/parameters/parameter_store.h"
#include "bert/parameters/parameters.h"
#include "bert/parameters/weight_stash.h"
#include "bert/stage.h"

namespace strata::bert {

class Heads;

// Scales, seed and position of a training micro-batch. The loss is the mean over the global batch,
// so the scales come from counts over all ranks and micro-batches.
struct TrainingStep {
  uint64_t seed = 0;  // seed of the run; keys dropout together with `step`
  uint64_t step = 0;
  float masked_lm_scale = 1.0f;      // d(loss)/d(one masked position's cross-entropy)
  float next_sentence_scale = 1.0f;  // d(loss)/d(one sequence's cross-entropy)
  // d(loss)/d(one token's standardization loss), without the factor Standardization::weight. Masked
  // positions use masked_lm_scale.
  float token_scale = 1.0f;
  // False if the micro-batch overwrites gradients: the first of a step, or every one if gradients
  // are reduced after each. Otherwise it adds to them and uses the same weights as the first.
  bool accumulate = false;
};

struct ModelOptions {
  BatchRounding rounding;
  bool float8 = false;  // FP8 GEMMs in the encoder, from the second training step on
  int in_flight = 1;    // maximum number of micro-batches between forward and backward
  // Keep only the activations that pass between blocks. The others have memory for one layer, and
  // forward runs again right before each backward. Not with FP8.
  bool recompute = false;
  WordGradient word_gradient = WordGradient::kTogether;
  // Gradients of layers become ready in two halves: see Block::backward_half. Not with shards, nor
  // with delays.
  bool half_layers = false;
  // Hold only these blocks and their parameters. Not with FP8, nor with kSplitForGood.
  Stage stage;
  // Delays of backward (training/schedules/ouroboros.h): for each block of the whole model, the
  // number of steps from its forward to its backward, which uses the forward's weights. Blocks
  // without delay have memory for one micro-batch. Not with recomputed activations, nor with
  // shards. Empty: no delays.
  std::vector<int> delays;
  // Layers that steps skip. Only with pre-LN.
  LayerDrop layer_drop;
  // Only for a model without LayerNorm.
  Standardization standardization;
  // Present if this rank keeps only shards of gradients, or of weights and gradients.
  std::optional<Sharding> sharding;
};

class Model {
 public:
  // Called when backward has completed the gradients of arena elements [begin, end).
  using MarkReady = std::function<void(int64_t begin, int64_t end)>;

  // Allocates weights, gradients, batches and the activations of all micro-batches in flight.
  // `backend` must outlive the model. Throws Error if model or backend does not suit the options.
  Model(const BertConfig& config, device::Backend& backend, const BatchCapacity& capacity,
        const ModelOptions& options = {});
  ~Model();

  const BertConfig& config() const { return config_; }
  device::Backend& backend() const { return backend_; }
  const ParameterLayout& layout() const { return layout_; }
  const BatchCapacity& capacity() const { return slots_.capacity(); }
  const BatchRounding& rounding() const { return options_.rounding; }
  bool in_float8() const { return options_.float8; }
  bool recomputes() const { return options_.recompute; }
  int in_flight() const { return options_.in_flight; }
  const Stage& stage() const { return options_.stage; }
  const LayerDrop& layer_drop() const { return options_.layer_drop; }
  // Amax of the operands of FP8 GEMMs since the step began, f32. Ranks that all-reduce it before
  // the next step keep equal scales. Absent without FP8.
  device::Tensor float8_amax() const { return scales_ ? scales_->amax() : device::Tensor(); }

  void set_weights(const HostWeights& weights);
  HostWeights weights() const { return parameters_.weights(); }
  const ParameterStore& parameters() const { return parameters_; }
  // Flat arenas of layout().size elements, if they are not sharded.
  device::Tensor master_weights() const { return parameters_.master_weights().memory(); }
  device::Tensor compute_weights() const { return parameters_.compute_weights().memory(); }
  device::Tensor gradients() const { return parameters_.gradients().memory(); }
  // Device memory of gradients in bytes, including the embedding part of the word gradient.
  int64_t gradient_bytes() const;

  // State of training besides weights and batches, to be read or overwritten between steps.
  std::vector<device::StateTensor> training_state() const;
  // Called after master weights and training_state() were overwritten with those after `step`.
  void resume_after(int64_t step);

  // Blocks in forward order: embeddings, layer_0, layer_1, ..., heads; null if another stage has
  // it.
  const std::vector<std::unique_ptr<Block>>& blocks() const { return blocks_; }
  // Arena elements whose gradients are complete after a block's last backward, in the order of
  // their completion. Together, all blocks complete the whole arena.
  std::vector<Range> completes(const Block& block) const;
  // Arena positions between which backward completes gradients, range by range: boundaries of
  // layout(), and with half_layers also the middle of each layer.
  std::vector<int64_t> boundaries() const;
  bool has_half_layers() const { return options_.half_layers; }
  // Only with WordGradient::kSplitForGood, else absent or empty. sparse_word_gradient() [V, H] is
  // the embedding part of the word gradient, complete after the embeddings' last backward.
  // words_of_step() [V] marks the words in this step's micro-batches so far.
  device::Tensor sparse_word_gradient() const;
  std::span<const uint8_t> words_of_step() const { return words_of_step_; }
  // Memory of the activations of all micro-batches in flight, in bytes.
  int64_t activation_bytes() const { return activation_bytes_; }
  // The activations of one micro-batch in flight. Evaluations use the same memory.
  const Activations& activations(int in_flight = 0) const {
    return activations_[static_cast<size_t>(in_flight)];
  }

  // ---- For delayed backward.
  // Called after a block's backward: keeps the current weights, those of `step`, for the backward
  // of that step's micro-batch.
  void stash_weights(const Block& block, int64_t step);
  // Runs a block's backward for a micro-batch of an earlier step, with the weights of its forward.
  void delayed_backward(Block& block, int64_t step, const MicroBatch& micro_batch,
                        const Activations& activations);
  int64_t stash_bytes() const { return stash_ ? stash_->bytes() : 0; }
  // Returns the block's arena elements without the tied word embeddings, which the heads' module
  // also updates. The block's delayed backward reads only the returned elements.
  Range untied(const Block& block) const;
  const std::vector<int>& delays() const { return options_.delays; }
  // Issued on Stream::kCompute.
  void clear_gradients(const Range& range) { parameters_.clear_gradients(range); }
  void halve_word_gradient();

  // Copies a batch to the device for the next begin() or evaluate(): see BatchSlots.
  void upload(const data::PackedBatch& batch);
  void discard_uploaded() { slots_.discard(); }
  int slots() const { return slots_.count(); }
  // Makes the uploaded batch a micro-batch of a training step. Throws Error if no batch is
  // uploaded, or if `step` accumulates and the previous micro-batch belonged to another step.
  MicroBatch begin(const TrainingStep& step);
  // Numbers that, with the activations' memory and dropped layers, determine the work that blocks
  // issue for a micro-batch. If all are equal, graphs (Backend::capture) can be launched.
  using Shape = std::array<int64_t, 7>;  // the first element is the batch's slot
  Shape shape(const MicroBatch& micro_batch) const;

  // Returns a micro-batch for evaluation: without dropout or gradients.
  MicroBatch evaluated(const DeviceBatch& batch) const;

  // ---- For tests and measurements; training runs lists of operations
  // (training/step/step_executor.h).
  // Run all blocks of this stage in order, with activations(0). Both passes write gradients.
  // `mark_ready` may be empty.
  void forward(const MicroBatch& micro_batch);
  void backward(const MicroBatch& micro_batch, const MarkReady& mark_ready);
  // Runs upload, begin, forward and backward.
  void train(const data::PackedBatch& batch, const TrainingStep& step, const MarkReady& mark_ready);
  // Run forward without dropout or gradients, for a batch that is on the device or is uploaded
  // first. `in_flight` selects the activations' memory.
  void evaluate(const DeviceBatch& batch, int in_flight = 0);
  void evaluate(const data::PackedBatch& batch);

  // Return the sums since the last call, over training or over evaluation. Without heads, only
  // standardization is nonzero. Wait for the device.
  Losses take_losses();
  Losses take_evaluation_losses();

 private:
  void make_blocks();
  Losses take_losses(bool training);
  Activations make_activations() const;
  int delay_of(const Block& block) const;
  void make_stash();

  BertConfig config_;
  ModelOptions options_;
  device::Backend& backend_;
  ParameterLayout layout_;
  ParameterStore parameters_;
  BatchSlots slots_;
  Workspace workspace_;
  std::optional<Float8Scales> scales_;  // only with FP8
  std::optional<Standardizer> standardizer_;
  device::Buffer step_values_;                    // [slots] StepValues
  std::vector<std::vector<float>> layer_scales_;  // [slots], if layers are dropped
  std::optional<uint64_t> step_;                  // step of the previous micro-batch
  BlockContext context_;
  std::vector<std::unique_ptr<Block>> blocks_;
  Embeddings* embeddings_ = nullptr;      // the first block
  Heads* heads_ = nullptr;                // the last block
  std::vector<int32_t> uploaded_tokens_;  // tokens of the batch uploaded last, for words_of_step_
  std::vector<uint8_t> words_of_step_;
  std::vector<Activations> activations_;
  int64_t activation_bytes_ = 0;
  std::optional<WeightStash> stash_;  // weights of blocks with delayed backward
};

}  // namespace strata::bert
