// BERT for pretraining: masked-LM and next-sentence losses and all gradients, over packed batches.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "bert/config.h"
#include "bert/device_batch.h"
#include "bert/float8_encoder.h"
#include "bert/parameters.h"
#include "bert/weights/weights.h"
#include "device/backend.h"

namespace strata::bert {

// What a training micro-batch is scaled and seeded by, and where in its step it stands. The loss is
// the mean over the global batch, so the scales come from counts over all ranks and micro-batches.
struct TrainingStep {
  uint64_t seed = 0;  // of the run; with `step`, keys dropout
  uint64_t step = 0;
  float masked_lm_scale = 1.0f;      // d(loss)/d(one masked position's cross-entropy)
  float next_sentence_scale = 1.0f;  // d(loss)/d(one sequence's cross-entropy)
  // Not the step's first micro-batch: weights are the same, and gradients are added to those that
  // are there, which the first one's overwrite.
  bool accumulate = false;
};

// Sums over the batches since they were last taken.
struct Losses {
  device::LossTotals masked_lm;      // count: masked positions
  device::LossTotals next_sentence;  // count: sequences

  double mean_loss() const { return masked_lm.mean() + next_sentence.mean(); }
  double masked_lm_accuracy() const { return masked_lm.accuracy(); }
  Losses& operator+=(const Losses& other) {
    masked_lm += other.masked_lm;
    next_sentence += other.next_sentence;
    return *this;
  }
};

struct ModelOptions {
  BatchRounding rounding;
  bool float8 = false;  // the encoder's products in 8 bits, from the second training step on
};

class Model {
 public:
  // Called when backward has finished the gradients of elements [begin, end) of the arena.
  using GradientsFinal = std::function<void(int64_t begin, int64_t end)>;

  // Takes memory for weights, gradients and one micro-batch's activations. `backend` must outlive
  // it. Throws Error where it cannot do what the options ask for.
  Model(const BertConfig& config, device::Backend& backend, const BatchCapacity& capacity,
        const ModelOptions& options = {});

  const BertConfig& config() const { return config_; }
  device::Backend& backend() const { return backend_; }
  const ParameterLayout& layout() const { return layout_; }
  const BatchCapacity& capacity() const { return slots_[0].capacity(); }
  const BatchRounding& rounding() const { return options_.rounding; }
  bool in_float8() const { return options_.float8; }
  // The largest values that the products in 8 bits have been given since the step began, f32: ranks
  // that agree on them before the next step go on with the same scales. Absent without such
  // products.
  device::Tensor float8_largest() const { return float8_ ? float8_->largest() : device::Tensor(); }

  void set_weights(const HostWeights& weights);
  HostWeights weights() const;

  // Flat arenas of layout().size elements. Compute weights are the master weights where the dtypes
  // agree.
  device::Tensor master_weights() const;
  device::Tensor compute_weights() const;
  device::Tensor gradients() const;

  // A batch on its way to the device, beside whatever that works on, for the next forward: one may
  // be ahead. It may be changed at once. Throws Error where one is ahead already.
  void upload(const data::PackedBatch& batch);
  // Forgets it.
  void discard_uploaded() { uploaded_ = false; }
  // Makes the uploaded batch the one that is trained on. Throws Error where there is none, or where
  // it accumulates and the last one was of another step.
  void begin(const TrainingStep& step);
  // Everything that decides what forward and backward issue for the batch that was begun: where it
  // is equal, operations kept once (Backend::keep) can be replayed.
  using Shape = std::array<int64_t, 7>;  // the first is which of kSlots it lies in, in turns
  static constexpr int kSlots = 2;
  Shape shape() const;
  // Forward; then backward. Both write gradients. `gradients_final` may be empty.
  void forward();
  void backward(const GradientsFinal& gradients_final);
  // All of this.
  void train(const data::PackedBatch& batch, const TrainingStep& step,
             const GradientsFinal& gradients_final);
  // Forward without dropout or gradients; of a batch that stays on the device, or is uploaded.
  void evaluate(const DeviceBatch& batch);
  void evaluate(const data::PackedBatch& batch);

  // The sums since the last call, over training or over evaluation. Waits for the device.
  Losses take_losses() { return take(kTraining); }
  Losses take_evaluation_losses() { return take(kEvaluation); }

 private:
  struct LayerActivations {
    device::Buffer query_key_value, context, log_sum_exp;
    device::Buffer attention_normalized, attention_inverse_stddev, attention_out;
    device::Buffer intermediate_pre, intermediate;
    device::Buffer normalized, inverse_stddev, out;
  };
  struct HeadActivations {
    device::Buffer gathered, transform_pre, transform, normalized, inverse_stddev, out, d_out,
        d_gathered;
    device::Buffer cls, pooled_pre, pooled, d_pooled, d_cls;
  };

  enum LossKind { kTraining = 0, kEvaluation = 1 };
  Losses take(LossKind kind);
  device::LossTotals* totals(LossKind kind) const;
  const DeviceBatch& take_uploaded();
  void run_forward(bool training);
  void embeddings_forward(bool training);
  void layer_forward(size_t layer, bool training);
  void masked_lm_head(bool training);
  void next_sentence_head(bool training);
  void heads_backward();
  void clear_masked_lm_gradients();
  void layer_backward(size_t layer);
  void embeddings_backward();

  device::ConstTensor weight(const Parameter& p) const;
  device::Tensor gradient(const Parameter& p) const;
  void clear_gradient(const Parameter& p);
  device::Tensor activation(const device::Buffer& buffer, int64_t rows, int64_t cols) const;
  device::Tensor statistics(const device::Buffer& buffer, int64_t rows, int64_t cols) const;
  device::Buffer compute_buffer(int64_t elements) const;
  device::Buffer master_buffer(int64_t elements) const;
  device::Dropout dropout(float probability, size_t layer, device::DropoutSite site,
                          bool training) const;
  // What a layer's products take in 8 bits, if they do.
  Float8Encoder::Layer float8_of(size_t layer, bool training) const;
  // The same of what the layer is given.
  device::Float8Copy input_copy(size_t layer, bool training) const;
  // A weight as the forward product takes it, rounded once a step.
  device::ConstTensor weight_operand(const Parameter& p, const device::Float8Copy& copy,
                                     bool training);
  const device::Buffer& layer_input(size_t layer) const;

  BertConfig config_;
  ModelOptions options_;
  device::Backend& backend_;
  ParameterLayout layout_;
  std::array<DeviceBatch, kSlots> slots_;  // one in use, one being filled
  std::array<device::Event, kSlots> slot_uploaded_ = {}, slot_free_ = {};
  size_t next_slot_ = 0;
  bool uploaded_ = false;               // slots_[next_slot_] is, and waits for its forward
  const DeviceBatch* batch_ = nullptr;  // that is worked on
  std::optional<uint64_t> step_;        // that it is of
  bool accumulate_ = false;             // its gradients

  // What the operations of a step read when they run.
  struct StepValues {
    uint64_t dropout_key = 0;
    float masked_lm_scale = 0;
    float next_sentence_scale = 0;
  };
  const StepValues* step_values() const { return step_values_.as<StepValues>(); }

  device::Buffer master_, compute_, gradients_, totals_, step_values_;
  std::optional<Float8Encoder> float8_;
  device::Buffer embedded_, embedded_normalized_, embedded_inverse_stddev_;
  std::vector<LayerActivations> layers_;
  HeadActivations heads_;
  // Gradients of activations: of a layer's output (also its input's, once it is done), of the
  // sublayer before a LayerNorm, and of the two wide tensors.
  device::Buffer d_hidden_, d_sublayer_, d_residual_, d_context_, d_intermediate_,
      d_query_key_value_;
};

}  // namespace strata::bert
