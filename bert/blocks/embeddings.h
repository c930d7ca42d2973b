// The first block: tokens, positions and segments to hidden states.
#pragma once

#include "bert/blocks/block.h"

namespace strata::bert {

class Embeddings final : public Block {
 public:
  Embeddings(const BlockContext& context, const ParameterLayout& layout, int index);

  std::unique_ptr<BlockActivations> make_activations() const override;
  void forward(const MicroBatch& micro_batch, const Activations& activations) override;
  void backward(const MicroBatch& micro_batch, const Activations& activations) override;

 private:
  struct Saved final : BlockActivations {
    device::Buffer normalized, inverse_stddev;
  };
  device::Dropout dropout(const MicroBatch& micro_batch) const;

  const ParameterLayout& layout_;
};

}  // namespace strata::bert
