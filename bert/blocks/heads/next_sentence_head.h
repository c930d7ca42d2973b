// Next-sentence head: predicts from the first token of each sequence ([CLS]) whether two sentences
// follow each other.
#pragma once

#include "bert/blocks/linear.h"

namespace strata::bert {

class NextSentenceHead {
 public:
  // Activations that forward keeps for backward, for B sequences.
  struct Saved {
    device::Buffer cls, pooled_pre, pooled, d_pooled, d_cls;  // [B, H]
  };

  NextSentenceHead(const BlockContext& context, const ParameterLayout& layout);

  Saved make_saved() const;
  // See MaskedLmHead.
  void forward(const MicroBatch& micro_batch, const Saved& saved, device::ConstTensor hidden,
               device::LossTotals* totals) const;
  void backward(const MicroBatch& micro_batch, const Saved& saved, device::Tensor d_hidden) const;

 private:
  device::Tensor rows(const device::Buffer& buffer, const MicroBatch& micro_batch) const;

  const BlockContext& context_;
  const ParameterLayout& layout_;
  Linear pooler_;
};

}  // namespace strata::bert
