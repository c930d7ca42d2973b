// The first block: tokens, positions and segments to hidden states.
#pragma once

#include "bert/blocks/block.h"

namespace strata::bert {

class Embeddings final : public Block {
 public:
  // `split_word_gradient`: see ModelOptions.
  Embeddings(const BlockContext& context, const ParameterLayout& layout, int index,
             bool split_word_gradient);

  std::unique_ptr<BlockActivations> make_activations() const override;
  void forward(const MicroBatch& micro_batch, const Activations& activations) override;
  void backward(const MicroBatch& micro_batch, const Activations& activations) override;
  void complete() override;

 private:
  struct Saved final : BlockActivations {
    device::Buffer normalized, inverse_stddev;
  };
  device::Dropout dropout(const MicroBatch& micro_batch) const;
  device::Tensor input_words() const;  // [V, H]

  const ParameterLayout& layout_;
  // Where the word gradient is split: the part of the input, zeros between steps; and 0, 1, ...,
  // V - 1. Else empty.
  device::Buffer input_words_, every_word_;
};

}  // namespace strata::bert
