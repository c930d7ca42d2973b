// Masked-LM head: predicts the masked tokens from the last hidden states at their positions. The
// word embeddings serve as the output projection.
#pragma once

#include "bert/blocks/linear.h"
#include "bert/blocks/residual_norm.h"

namespace strata::bert {

class MaskedLmHead {
 public:
  // Activations that forward keeps for backward, for M masked positions.
  struct Saved {
    device::Buffer gathered, transform_pre, transform, out;  // [M, H]
    ResidualNorm::Saved norm;
    device::Buffer d_out, d_gathered;  // [M, H]
  };

  MaskedLmHead(const BlockContext& context, const ParameterLayout& layout);

  Saved make_saved() const;
  // Adds to `totals`, device memory. In training it also computes the gradients of the classifier's
  // input, weights and bias, so that probabilities are never stored.
  void forward(const MicroBatch& micro_batch, const Saved& saved, device::ConstTensor hidden,
               device::LossTotals* totals) const;
  // Adds to `d_hidden`.
  void backward(const MicroBatch& micro_batch, const Saved& saved, device::Tensor d_hidden) const;

 private:
  void clear_gradients() const;
  device::Tensor rows(const device::Buffer& buffer, const MicroBatch& micro_batch) const;

  const BlockContext& context_;
  const ParameterLayout& layout_;
  Linear transform_;
  ResidualNorm norm_;
};

}  // namespace strata::bert
