// One encoder layer with LayerNorm before its sublayers (pre-LN):
// u = h + s * dropout(attention(LayerNorm(h))), y = u + s * dropout(feed_forward(LayerNorm(u))).
// s is 1 without layer dropping. A dropped layer passes h on.
#pragma once

#include "bert/blocks/attention.h"
#include "bert/blocks/block.h"
#include "bert/blocks/linear.h"
#include "bert/blocks/residual_norm.h"

namespace strata::bert {

class PreNormLayer final : public Block {
 public:
  // `layer` is the layer's index in the model.
  PreNormLayer(const BlockContext& context, const ParameterLayout& layout, size_t layer, int index);

  std::unique_ptr<BlockActivations> make_activations() const override;
  void forward(const MicroBatch& micro_batch, const Activations& activations) override;
  void backward(const MicroBatch& micro_batch, const Activations& activations) override {
    backward_half(micro_batch, activations);
    backward_rest(micro_batch, activations);
  }
  void backward_half(const MicroBatch& micro_batch, const Activations& activations) override;
  void backward_rest(const MicroBatch& micro_batch, const Activations& activations) override;

 private:
  struct Saved final : BlockActivations {
    ResidualNorm::Saved attention_norm;
    device::Buffer attention_input;  // [T, H] output of attention_norm
    Linear::Saved query_key_value;
    Attention::Saved attention;
    Linear::Saved attention_output;
    ResidualNorm::Saved output_norm;
    device::Buffer intermediate_input;  // [T, H] output of output_norm
    Linear::Saved intermediate_linear, output;
    device::Buffer intermediate_pre;  // [T, I] before the activation
    device::Buffer intermediate;      // [T, I]
  };

  size_t layer_;
  ResidualNorm attention_norm_;
  Linear query_key_value_;
  Attention attention_;
  Linear attention_output_;
  ResidualNorm output_norm_;
  Linear intermediate_;
  Linear output_;
};

}  // namespace strata::bert
