// Self-attention within each sequence, without its linear layers.
#pragma once

#include "bert/blocks/block.h"

namespace strata::bert {

class Attention {
 public:
  // Activations that forward keeps for backward.
  struct Saved {
    device::Buffer query_key_value;  // [T, 3H]
    device::Buffer context;          // [T, H]
    device::Buffer log_sum_exp;      // [T, heads] master dtype
  };

  // `layer` is part of the dropout key.
  Attention(const BlockContext& context, size_t layer) : context_(context), layer_(layer) {}

  Saved make_saved() const;
  device::Tensor query_key_value(const MicroBatch& micro_batch, const Saved& saved) const;
  device::Tensor context(const MicroBatch& micro_batch, const Saved& saved) const;

  // Computes context from query_key_value, and also writes it to `copy`.
  void forward(const MicroBatch& micro_batch, const Saved& saved,
               const device::Float8Copy& copy) const;
  // Computes `d_query_key_value` [T, 3H] from `d_context` [T, H], and also writes it to `copy`.
  void backward(const MicroBatch& micro_batch, const Saved& saved, device::ConstTensor d_context,
                device::Tensor d_query_key_value, const device::Float8Copy& copy) const;

 private:
  device::Tensor log_sum_exp(const MicroBatch& micro_batch, const Saved& saved) const;
  device::Dropout dropout(const MicroBatch& micro_batch) const;

  const BlockContext& context_;
  size_t layer_;
};

}  // namespace strata::bert
