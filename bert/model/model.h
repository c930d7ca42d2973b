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

// What a training micro-batch is scaled and seeded by, and where in its step it stands. The loss is
// the mean over the global batch, so the scales come from counts over all ranks and micro-batches.
struct TrainingStep {
  uint64_t seed = 0;  // of the run; with `step`, keys dropout
  uint64_t step = 0;
  float masked_lm_scale = 1.0f;      // d(loss)/d(one masked position's cross-entropy)
  float next_sentence_scale = 1.0f;  // d(loss)/d(one sequence's cross-entropy)
  // d(loss)/d(one token's standardization loss), before its weight. Of masked positions it is
  // masked_lm_scale.
  float token_scale = 1.0f;
  // Not the step's first micro-batch: weights are the same, and gradients are added to those that
  // are there, which the first one's overwrite.
  bool accumulate = false;
};

struct ModelOptions {
  BatchRounding rounding;
  bool float8 = false;  // the encoder's GEMMs in FP8, from the second training step on
  int in_flight = 1;    // micro-batches that may be between their forward and their backward
  // Activations hold only what crosses from block to block. What else backward reads has memory for
  // one layer, and forward runs again right before each backward. Not with FP8.
  bool recompute = false;
  WordGradient word_gradient = WordGradient::kTogether;
  // Gradients of layers become ready in two halves: see Block::halfway. Not with shards, nor with
  // delays.
  bool half_layers = false;
  // Only these blocks and their parameters are here. Not with FP8, nor with kSplitForGood.
  Stage stage;
  // Of every block of the whole model: how many steps its backward comes after its forward, whose
  // weights it reads then (training/schedules/ouroboros.h). Blocks without delay have memory for
  // one micro-batch. Not with recomputed activations, nor with shards. Empty: none is delayed.
  std::vector<int> delays;
  // Layers that steps leave out. With pre-LN alone.
  LayerDrop layer_drop;
  // Of a model without LayerNorm alone.
  Standardization standardization;
  // This rank keeps shards of gradients, or of weights and gradients. Absent: all of them.
  std::optional<Sharding> sharding;
};

class Model {
 public:
  // Called when backward has completed the gradients of elements [begin, end) of the arena.
  using MarkReady = std::function<void(int64_t begin, int64_t end)>;

  // Takes memory for weights, gradients, batches and the activations of all micro-batches in
  // flight. `backend` must outlive it. Throws Error where it cannot do what the options ask for.
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
  // The amax of what FP8 GEMMs have been given since the step began, f32: ranks that agree on them
  // before the next step go on with the same scales. Absent without FP8.
  device::Tensor float8_amax() const { return scales_ ? scales_->amax() : device::Tensor(); }

  void set_weights(const HostWeights& weights);
  HostWeights weights() const { return parameters_.weights(); }
  const ParameterStore& parameters() const { return parameters_; }
  // Flat arenas of layout().size elements, where they are not sharded.
  device::Tensor master_weights() const { return parameters_.master_weights().memory(); }
  device::Tensor compute_weights() const { return parameters_.compute_weights().memory(); }
  device::Tensor gradients() const { return parameters_.gradients().memory(); }
  // Of device memory for gradients, the word embeddings' second part included.
  int64_t gradient_bytes() const;

  // What a training step depends on besides weights and its batch, to be read or overwritten
  // between steps.
  std::vector<device::StateTensor> training_state() const;
  // Master weights and training_state() have been overwritten with those after `step`.
  void resume_after(int64_t step);

  // In the order of forward: embeddings, layer_0, layer_1, ..., heads; null: of another stage.
  const std::vector<std::unique_ptr<Block>>& blocks() const { return blocks_; }
  // Arena elements whose gradients are complete after a block's last backward, in the order in
  // which they complete. Those of all blocks together are the arena.
  std::vector<Range> completes(const Block& block) const;
  // Where backward may pause: boundaries of layout(), with halves of layers if these become ready.
  std::vector<int64_t> boundaries() const;
  bool has_half_layers() const { return options_.half_layers; }
  // WordGradient::kSplitForGood: the gradient of the words that the embeddings' last backward
  // completes, [V, H], and which words a step's micro-batches that have begun have, [V]. Else
  // absent and empty.
  device::Tensor late_words() const;
  std::span<const uint8_t> words_of_step() const { return words_of_step_; }
  // Of the memory of all micro-batches in flight.
  int64_t activation_bytes() const { return activation_bytes_; }
  // The memory of each of the micro-batches in flight; evaluations use it, too.
  const Activations& activations(int in_flight = 0) const {
    return activations_[static_cast<size_t>(in_flight)];
  }

  // Where backward is delayed. After a block's backward: keeps the weights of `step`, which are the
  // present ones, for the backward of that step's micro-batch.
  void stash_weights(const Block& block, int64_t step);
  // A block's backward of a micro-batch of an earlier step, with the weights of its forward.
  void delayed_backward(Block& block, int64_t step, const MicroBatch& micro_batch,
                        const Activations& activations);
  int64_t stash_bytes() const { return stash_ ? stash_->bytes() : 0; }
  // The arena elements of a block that its module alone updates: all, but for the tied words of the
  // embeddings, which the heads' module does, too. Backward reads no others.
  Range untied(const Block& block) const;
  const std::vector<int>& delays() const { return options_.delays; }
  // On Stream::kCompute.
  void clear_gradients(const Range& range) { parameters_.clear_gradients(range); }
  void halve_word_gradient();

  // A batch on its way to the device, for the next begin() or evaluate(): see BatchSlots.
  void upload(const data::PackedBatch& batch);
  void discard_uploaded() { slots_.discard(); }
  int slots() const { return slots_.count(); }
  // Makes the uploaded batch a micro-batch of a training step. Throws Error where there is none, or
  // where it accumulates and the last one was of another step.
  MicroBatch begin(const TrainingStep& step);
  // Everything that decides what blocks issue for a micro-batch: where it is equal, what was
  // captured once (Backend::capture) can be launched.
  using Shape = std::array<int64_t, 7>;  // the first is the slot that the batch lies in
  Shape shape(const MicroBatch& micro_batch) const;

  // A batch as blocks see it in evaluation: without dropout or gradients.
  MicroBatch evaluated(const DeviceBatch& batch) const;

  // For tests and measurements; training runs lists of operations (training/step/step_executor.h).
  // All blocks that are here in order, with the first activations. Both passes write gradients.
  // `mark_ready` may be empty.
  void forward(const MicroBatch& micro_batch);
  void backward(const MicroBatch& micro_batch, const MarkReady& mark_ready);
  // Upload, begin, forward and backward.
  void train(const data::PackedBatch& batch, const TrainingStep& step, const MarkReady& mark_ready);
  // Forward without dropout or gradients; of a batch that stays on the device, or is uploaded.
  // `in_flight`: whose activations' memory it takes.
  void evaluate(const DeviceBatch& batch, int in_flight = 0);
  void evaluate(const data::PackedBatch& batch);

  // The sums since the last call, over training or over evaluation; none without heads. Waits for
  // the device.
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
  std::optional<Float8Scales> scales_;  // of FP8
  std::optional<Standardizer> standardizer_;
  device::Buffer step_values_;                    // [slots] StepValues
  std::vector<std::vector<float>> layer_scales_;  // of every slot, where layers are dropped
  std::optional<uint64_t> step_;                  // that the last micro-batch was of
  BlockContext context_;
  std::vector<std::unique_ptr<Block>> blocks_;
  Embeddings* embeddings_ = nullptr;      // the first of them
  Heads* heads_ = nullptr;                // the last
  std::vector<int32_t> uploaded_tokens_;  // of the batch uploaded last; where there are late words
  std::vector<uint8_t> words_of_step_;
  std::vector<Activations> activations_;
  int64_t activation_bytes_ = 0;
  std::optional<WeightStash> stash_;  // of the blocks whose backward is delayed
};

}  // namespace strata::bert
