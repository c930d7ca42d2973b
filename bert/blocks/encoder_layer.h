// One encoder layer with two sublayers, self-attention and feed-forward. Each is followed by a
// residual connection and LayerNorm (post-LN, as in BERT) or its replacement in models without it.
#pragma once

#include "bert/blocks/attention.h"
#include "bert/blocks/block.h"
#include "bert/blocks/linear.h"
#include "bert/blocks/residual_norm.h"

namespace strata::bert {

class EncoderLayer final : public Block {
 public:
  static constexpr int64_t kGemms = 4;  // GEMMs per layer in Float8Scales

  // `layer` is the layer's index in the model. `scales` cover kGemms GEMMs per layer; null without
  // FP8.
  EncoderLayer(const BlockContext& context, const ParameterLayout& layout, size_t layer, int index,
               Float8Scales* scales);

  std::unique_ptr<BlockActivations> make_activations() const override;
  void forward(const MicroBatch& micro_batch, const Activations& activations) override;
  void backward(const MicroBatch& micro_batch, const Activations& activations) override {
    backward_half(micro_batch, activations);
    backward_rest(micro_batch, activations);
  }
  void backward_half(const MicroBatch& micro_batch, const Activations& activations) override;
  void backward_rest(const MicroBatch& micro_batch, const Activations& activations) override;
  device::Float8Copy input_copy(const MicroBatch& micro_batch,
                                const Activations& activations) const override;

 private:
  struct Saved final : BlockActivations {
    Linear::Saved query_key_value;
    Attention::Saved attention;
    Linear::Saved attention_output;
    ResidualNorm::Saved attention_norm;
    device::Buffer attended;          // [T, H] output of attention_norm
    device::Buffer intermediate_pre;  // [T, I] before the activation
    device::Buffer intermediate;      // [T, I]
    Linear::Saved intermediate_linear, output;
    ResidualNorm::Saved output_norm;
  };

  Linear query_key_value_;
  Attention attention_;
  Linear attention_output_;
  ResidualNorm attention_norm_;
  Linear intermediate_;
  Linear output_;
  ResidualNorm output_norm_;
};

}  // namespace strata::bert
